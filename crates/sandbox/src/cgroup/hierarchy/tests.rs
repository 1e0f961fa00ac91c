use super::*;

fn places(hierarchies: &Hierarchies) -> Vec<(&'static str, Version, String)> {
    hierarchies
        .places
        .iter()
        .map(|place| {
            (
                place.controller.name(),
                place.version,
                place.parent.display().to_string(),
            )
        })
        .collect()
}

/// A fake v2 tree with one group that offers these controllers.
fn unified_tree(group: &str, offered: &str) -> (tempfile::TempDir, String) {
    let tree = tempfile::tempdir().unwrap();
    let own = tree.path().join(group.trim_start_matches('/'));
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("cgroup.controllers"), offered).unwrap();
    fs::write(own.join("cgroup.subtree_control"), "").unwrap();
    let mountinfo = format!(
        "30 20 0:26 / {} rw shared:9 - cgroup2 cgroup2 rw",
        tree.path().display()
    );
    (tree, mountinfo)
}

#[test]
fn v1_controllers_are_used_where_each_is_mounted() {
    let mountinfo = "31 30 0:27 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                     32 30 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n\
                     33 30 0:29 / /cg/pids rw - cgroup cgroup rw,pids\n";
    let memberships = "3:pids:/a\n2:memory:/a/b\n1:cpu,cpuacct:/\n0::/\n";
    let found = Hierarchies::from_tables(mountinfo, memberships, None);
    assert_eq!(
        places(&found),
        [
            ("memory", Version::V1, "/cg/memory/a/b".to_owned()),
            ("cpu", Version::V1, "/cg/cpu,cpuacct/".to_owned()),
            ("pids", Version::V1, "/cg/pids/a".to_owned()),
            ("cpuacct", Version::V1, "/cg/cpu,cpuacct/".to_owned()),
        ]
    );
}

#[test]
fn a_v2_tree_with_controllers_wins_over_v1() {
    let (tree, unified) = unified_tree("/svc", "cpuset cpu io memory pids");
    let mountinfo = format!("{unified}\n32 30 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n");
    let found = Hierarchies::from_tables(&mountinfo, "2:memory:/\n0::/svc\n", None);
    let own = tree.path().join("svc").display().to_string();
    assert_eq!(
        places(&found),
        [
            ("memory", Version::V2, own.clone()),
            ("cpu", Version::V2, own.clone()),
            ("pids", Version::V2, own)
        ]
    );
}

#[test]
fn an_empty_v2_tree_leaves_the_controllers_to_v1() {
    let (_tree, unified) = unified_tree("/", "");
    let mountinfo = format!("{unified}\n32 30 0:28 / /cg/pids rw - cgroup cgroup rw,pids\n");
    let found = Hierarchies::from_tables(&mountinfo, "2:pids:/\n0::/\n", None);
    assert_eq!(
        places(&found),
        [("pids", Version::V1, "/cg/pids/".to_owned())]
    );
}

#[test]
fn below_its_own_supervisor_group_a_process_still_finds_its_parent() {
    let (tree, mountinfo) = unified_tree("/svc", "memory");
    fs::create_dir(tree.path().join("svc").join(SUPERVISOR)).unwrap();
    let found = Hierarchies::from_tables(&mountinfo, "0::/svc/kiln-supervisor\n", None);
    assert_eq!(
        places(&found),
        [(
            "memory",
            Version::V2,
            tree.path().join("svc").display().to_string()
        )]
    );
}

#[test]
fn in_a_container_a_group_is_found_below_the_visible_root() {
    let mountinfo = "32 30 0:28 /docker/abc /cg/pids rw - cgroup cgroup rw,pids\n";
    let found = Hierarchies::from_tables(mountinfo, "2:pids:/docker/abc/inner\n", None);
    assert_eq!(
        places(&found),
        [("pids", Version::V1, "/cg/pids/inner".to_owned())]
    );
}

#[test]
fn a_host_without_groups_says_so() {
    let found = Hierarchies::from_tables("22 27 0:21 / /proc rw - proc proc rw\n", "0::/\n", None);
    assert!(places(&found).is_empty());
    assert!(
        found
            .why_not(Controller::Memory)
            .contains("no memory controller")
    );
}
