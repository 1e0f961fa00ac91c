use std::fs;
use std::path::Path;

use super::*;
use crate::Layout;
use crate::testing::{Layer, image_of};

const ROOMY: u64 = 1 << 30;

struct Bench {
    directory: tempfile::TempDir,
    layout: Layout,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let layout = Layout::create(directory.path().join("layout")).unwrap();
        Self { directory, layout }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("cache")
    }

    fn open(&self, limit: u64) -> Cache {
        Cache::open(self.path(), limit).unwrap()
    }

    /// An image of its own, about 100 KiB when unpacked.
    fn image(&self, name: &str) -> Image {
        image_of(
            &self.layout,
            &[Layer::new()
                .file(name, &name.repeat(100_000 / name.len()))
                .finish()],
        )
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn an_image_is_unpacked_once() {
    let bench = Bench::new();
    let cache = bench.open(ROOMY);
    let image = bench.image("one");
    let first = cache.rootfs(&image).unwrap();
    let inode = |guard: &Guard| {
        std::os::unix::fs::MetadataExt::ino(&fs::metadata(guard.path().join("one")).unwrap())
    };
    let second = cache.rootfs(&image).unwrap();
    assert_eq!(inode(&first), inode(&second));
    assert_eq!(second.config(), image.config());
    assert_eq!(names(&bench.path()), ["images", "lock"]);
}

#[test]
fn an_image_survives_the_cache_being_opened_again() {
    let bench = Bench::new();
    let image = bench.image("one");
    drop(bench.open(ROOMY).rootfs(&image).unwrap());
    let guard = bench.open(ROOMY).get(image.digest()).unwrap().unwrap();
    assert!(guard.path().join("one").is_file());
}

#[test]
fn the_least_recently_used_goes_first() {
    let bench = Bench::new();
    let cache = bench.open(250_000);
    let [one, two, three] = ["one", "two", "three"].map(|name| bench.image(name));
    drop(cache.rootfs(&one).unwrap());
    drop(cache.rootfs(&two).unwrap());
    drop(cache.get(one.digest()).unwrap().unwrap());
    drop(cache.rootfs(&three).unwrap());
    let is_here = |image: &Image| cache.get(image.digest()).unwrap().is_some();
    assert_eq!(
        [is_here(&one), is_here(&two), is_here(&three)],
        [true, false, true]
    );
    assert_eq!(names(&bench.path()), ["images", "lock"]);
}

#[test]
fn what_is_in_use_stays_even_beyond_the_limit() {
    let bench = Bench::new();
    let cache = bench.open(1);
    let (one, two) = (bench.image("one"), bench.image("two"));
    let first = cache.rootfs(&one).unwrap();
    let second = cache.rootfs(&two).unwrap();
    assert!(first.path().join("one").is_file());
    assert!(second.path().join("two").is_file());
    drop((first, second));
    drop(cache.rootfs(&bench.image("three")).unwrap());
    assert!(cache.get(one.digest()).unwrap().is_none());
}

#[test]
fn what_a_crash_left_is_swept_and_what_is_alive_is_not() {
    let bench = Bench::new();
    let cache = bench.open(ROOMY);
    let alive = cache.stage().unwrap();
    fs::create_dir_all(bench.path().join("tmp-crashed/rootfs/deep")).unwrap();
    fs::write(bench.path().join("tmp-crashed/rootfs/deep/file"), "x").unwrap();
    bench.open(ROOMY);
    assert!(!bench.path().join("tmp-crashed").exists());
    assert!(alive.path().is_dir());
    let path = alive.path().to_owned();
    drop(alive);
    assert!(!path.exists());
}

#[test]
fn a_refused_image_leaves_nothing() {
    let bench = Bench::new();
    let cache = bench.open(ROOMY);
    let image = image_of(
        &bench.layout,
        &[Layer::new().file("a", "x").file("../b", "x").finish()],
    );
    let error = cache.rootfs(&image).unwrap_err();
    assert!(matches!(error, CacheError::Unpack { .. }), "{error:?}");
    assert_eq!(names(&bench.path()), ["images", "lock"]);
    assert!(names(&bench.path().join("images")).is_empty());
}

#[test]
fn two_who_unpack_the_same_image_share_one_entry() {
    let bench = Bench::new();
    let cache = bench.open(ROOMY);
    let image = bench.image("one");
    let barrier = std::sync::Barrier::new(4);
    let paths: Vec<_> = std::thread::scope(|scope| {
        let unpackers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    cache.rootfs(&image).unwrap()
                })
            })
            .collect();
        unpackers
            .into_iter()
            .map(|unpacker| unpacker.join().unwrap().path().to_owned())
            .collect()
    });
    assert!(paths.iter().all(|path| *path == paths[0]));
    assert_eq!(names(&bench.path()), ["images", "lock"]);
}

#[test]
fn a_directory_without_permissions_can_be_evicted() {
    let bench = Bench::new();
    let cache = bench.open(1);
    let layer = Layer::new()
        .entry(tar::EntryType::Directory, "closed/", "", 0o000, b"")
        .file("closed/inside", "x");
    let image = image_of(&bench.layout, &[layer.finish()]);
    drop(cache.rootfs(&image).unwrap());
    drop(cache.rootfs(&bench.image("other")).unwrap());
    assert_eq!(names(&bench.path()), ["images", "lock"]);
    assert!(cache.get(image.digest()).unwrap().is_none());
}

#[test]
fn others_on_the_host_cannot_look_in() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    bench.open(ROOMY);
    assert_eq!(
        fs::metadata(bench.path()).unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn uses_stay_in_order_when_the_clock_does_not_move_or_moves_back() {
    let bench = Bench::new();
    let _cache = bench.open(ROOMY);
    let lock = Lock::take(&bench.path()).unwrap();
    let far = std::time::UNIX_EPOCH + std::time::Duration::new(1 << 32, 999_999_999);
    fs::File::open(bench.path().join("lock"))
        .unwrap()
        .set_modified(far)
        .unwrap();
    let (first, second) = (lock.tick().unwrap(), lock.tick().unwrap());
    assert_eq!((first.tv_sec, first.tv_nsec), ((1 << 32) + 1, 0));
    assert_eq!((second.tv_sec, second.tv_nsec), ((1 << 32) + 1, 1));
}

#[test]
fn what_another_process_is_making_is_swept_only_after_it_ended() {
    use std::io::BufRead as _;
    use std::process::{Command, Stdio};
    let bench = Bench::new();
    bench.open(ROOMY);
    let staging = bench.path().join("tmp-elsewhere");
    fs::create_dir(&staging).unwrap();
    let mut other = Command::new("flock")
        .arg(&staging)
        .args(["sh", "-c", "echo locked; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = io::BufReader::new(other.stdout.take().unwrap());
    said.read_line(&mut String::new()).unwrap();

    bench.open(ROOMY);
    assert!(staging.exists());

    drop(other.stdin.take());
    other.wait().unwrap();
    bench.open(ROOMY);
    assert!(!staging.exists());
}

#[test]
fn a_disk_is_made_once_and_goes_with_its_image() {
    let bench = Bench::new();
    let cache = bench.open(ROOMY);
    let guard = cache.rootfs(&bench.image("one")).unwrap();
    let disk = cache.disk(&guard).unwrap();
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let made = inode(&disk);
    assert_eq!(inode(&cache.disk(&guard).unwrap()), made);
    drop(guard);
    bench.open(0).rootfs(&bench.image("two")).unwrap();
    assert!(!disk.exists());
    assert_eq!(names(&bench.path()), ["images", "lock"]);
}

/// What the reference program finds on a disk: mode, user and group.
fn owner_on(disk: &Path, path: &str) -> (String, String, String) {
    let request = format!("stat {path}");
    let told = crate::testing::run("/sbin/debugfs", &["-R", &request, disk.to_str().unwrap()]);
    let after = |word: &str| {
        let (_, rest) = told
            .split_once(word)
            .unwrap_or_else(|| panic!("{path}: {told}"));
        rest.split_whitespace().next().unwrap().to_owned()
    };
    (after("Mode:"), after("User:"), after("Group:"))
}

/// Whoever unpacks it.
#[test]
fn owners_and_modes_of_an_image_are_those_of_its_disk() {
    let bench = Bench::new();
    let owned =
        |layer: Layer, uid: &str| layer.extended(&[("uid", uid.as_bytes()), ("gid", b"100500")]);
    let lower = Layer::new().directory("srv/").file("srv/gone", "x");
    let lower = owned(lower, "1000").entry(tar::EntryType::Directory, "srv/ann/", "", 0o700, b"");
    let lower = owned(lower, "1000").file("srv/ann/notes", "mine");
    let lower = owned(lower, "1000").symlink("srv/ann/link", "notes");
    let lower = owned(lower, "7").file("replaced", "old");
    let lower = lower
        .hard_link("srv/ann/again", "srv/ann/notes")
        .entry(tar::EntryType::Directory, "etc/", "", 0o000, b"")
        .entry(tar::EntryType::Regular, "etc/shadow", "", 0o000, b"secret");
    let upper = Layer::new()
        .file("replaced", "new")
        .file("srv/.wh.gone", "");
    let image = image_of(&bench.layout, &[lower.finish(), upper.finish()]);
    let cache = bench.open(ROOMY);
    let guard = cache.rootfs(&image).unwrap();
    let disk = cache.disk(&guard).unwrap();
    for (path, mode, user, group) in [
        ("/", "0755", "0", "0"),
        ("/srv", "0755", "0", "0"),
        ("/srv/ann", "0700", "1000", "100500"),
        ("/srv/ann/notes", "0644", "1000", "100500"),
        ("/srv/ann/again", "0644", "1000", "100500"),
        ("/srv/ann/link", "0777", "1000", "100500"),
        ("/replaced", "0644", "0", "0"),
        ("/etc", "0000", "0", "0"),
        ("/etc/shadow", "0000", "0", "0"),
    ] {
        let wanted = (mode.to_owned(), user.to_owned(), group.to_owned());
        assert_eq!(owner_on(&disk, path), wanted, "{path}");
    }
    let shadow = crate::testing::run(
        "/sbin/debugfs",
        &["-R", "cat /etc/shadow", disk.to_str().unwrap()],
    );
    assert_eq!(shadow, "secret");
}

#[test]
fn owners_and_modes_are_those_of_its_disk_for_an_ordinary_user_too() {
    if !rustix::process::geteuid().is_root() {
        // The other test has shown it.
        return;
    }
    let output = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "cache::tests::owners_and_modes_of_an_image_are_those_of_its_disk",
        ])
        .output()
        .expect("util-linux is not installed: run `cargo xtask setup`");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    // A filter that finds nothing succeeds too.
    assert!(told.contains("1 passed"), "{told}");
}

/// The entry of an image, and what is to be broken of it.
fn marker_of(bench: &Bench, image: &Image) -> PathBuf {
    let name = format!("sha256-{}", image.digest().hex());
    bench.path().join("images").join(name).join("image.json")
}

#[test]
fn an_entry_that_cannot_be_read_does_not_keep_others_out_and_goes() {
    let bench = Bench::new();
    let cache = bench.open(ROOMY);
    for (name, damage) in [
        (
            "cut",
            (|path: &Path| fs::write(path, "{")) as fn(&Path) -> io::Result<()>,
        ),
        ("lost", |path| fs::remove_file(path)),
    ] {
        let broken = bench.image(name);
        drop(cache.rootfs(&broken).unwrap());
        let marker = marker_of(&bench, &broken);
        damage(&marker).unwrap();
        drop(
            cache
                .rootfs(&bench.image(&format!("after {name}")))
                .unwrap(),
        );
        assert!(!marker.parent().unwrap().exists(), "{name}");
    }
    assert_eq!(names(&bench.path()), ["images", "lock"]);
}

#[test]
fn a_damaged_entry_is_made_again() {
    let bench = Bench::new();
    let cache = bench.open(ROOMY);
    let image = bench.image("one");
    drop(cache.rootfs(&image).unwrap());
    fs::write(marker_of(&bench, &image), "{").unwrap();
    assert!(cache.get(image.digest()).unwrap().is_none());
    let guard = cache.rootfs(&image).unwrap();
    assert!(guard.path().join("one").is_file());
}

#[test]
fn a_damaged_entry_that_somebody_uses_stays_and_is_named() {
    let bench = Bench::new();
    let cache = bench.open(ROOMY);
    let image = bench.image("one");
    let guard = cache.rootfs(&image).unwrap();
    fs::write(marker_of(&bench, &image), "{").unwrap();
    drop(cache.rootfs(&bench.image("other")).unwrap());
    assert!(guard.path().join("one").is_file());
    let error = cache.get(image.digest()).unwrap_err();
    assert!(matches!(error, CacheError::Damaged { .. }), "{error:?}");
}

#[test]
fn what_is_no_entry_at_all_is_left_alone() {
    let bench = Bench::new();
    let cache = bench.open(ROOMY);
    let stray = bench.path().join("images/README");
    fs::write(&stray, "mine").unwrap();
    drop(cache.rootfs(&bench.image("one")).unwrap());
    assert!(stray.exists());
}
