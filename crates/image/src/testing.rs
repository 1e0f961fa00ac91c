//! What several test modules need.

use std::fs;
use std::path::Path;
use std::process::Command;

use kiln_model::Algorithm;
use tar::EntryType;

use crate::hashing::digest_of;
use crate::{
    Compression, Image, ImageConfig, ImageManifest, Layout, MediaType, Platform, Recipe,
    RootFileSystem, Source, build,
};

/// An HTTP client as the binary makes it.
pub(crate) fn http_client() -> reqwest::Client {
    // Another test may have been first; all install the same provider.
    let _already = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

/// Runs a tool that `cargo xtask setup` installs, and gives what it prints.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}: run `cargo xtask setup`"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A small tree with everything an image can hold.
pub(crate) fn sample_tree(directory: &Path) {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let passwd = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/srv/ann:\n";
    let group = "root:x:0:\nann:x:1000:\naudio:x:29:bob,ann\n";
    fs::create_dir_all(directory.join("bin")).unwrap();
    fs::create_dir_all(directory.join("etc/deep/er")).unwrap();
    fs::write(directory.join("bin/tool"), "#!/bin/sh\necho hello\n").unwrap();
    fs::set_permissions(
        directory.join("bin/tool"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    fs::hard_link(directory.join("bin/tool"), directory.join("bin/twin")).unwrap();
    fs::write(directory.join("etc/passwd"), passwd).unwrap();
    fs::write(directory.join("etc/group"), group).unwrap();
    fs::write(directory.join("etc/deep/er/empty"), "").unwrap();
    fs::write(
        directory.join("a name of more than one hundred bytes ".repeat(4)),
        "long",
    )
    .unwrap();
    symlink("../bin/tool", directory.join("etc/link")).unwrap();
    symlink("/nowhere//./else/..", directory.join("etc/dangling")).unwrap();
}

/// An image of the sample tree.
pub(crate) fn sample_image(layout: &Layout) -> Image {
    let tree = tempfile::tempdir().unwrap();
    sample_tree(tree.path());
    let recipe = Recipe {
        entrypoint: vec!["/bin/tool".into()],
        cmd: vec!["--default".into()],
        env: vec!["COLOR=green".into()],
        workdir: Some("/etc".into()),
        user: Some("ann".into()),
        ..Recipe::new(Source::Directory(tree.path().to_owned()))
    };
    build(&recipe, layout, None).unwrap()
}

/// A layer's archive, written with no regard for what is sensible.
pub(crate) struct Layer(tar::Builder<Vec<u8>>);

impl Layer {
    pub(crate) fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    pub(crate) fn file(self, path: &str, contents: &str) -> Self {
        self.entry(EntryType::Regular, path, "", 0o644, contents.as_bytes())
    }

    pub(crate) fn directory(self, path: &str) -> Self {
        self.entry(EntryType::Directory, path, "", 0o755, b"")
    }

    pub(crate) fn symlink(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Symlink, path, target, 0o777, b"")
    }

    pub(crate) fn hard_link(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Link, path, target, 0o644, b"")
    }

    /// Any entry at all; names go into the header as they are.
    pub(crate) fn entry(
        mut self,
        kind: EntryType,
        path: &str,
        link: &str,
        mode: u32,
        contents: &[u8],
    ) -> Self {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(1_000_000_000);
        header.set_size(contents.len() as u64);
        header.set_cksum();
        self.0.append(&header, contents).unwrap();
        self
    }

    /// An extended header for the entry that follows.
    pub(crate) fn extended(self, records: &[(&str, &[u8])]) -> Self {
        let mut body = Vec::new();
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            let mut length = rest + rest.to_string().len();
            length = rest + length.to_string().len();
            body.extend_from_slice(format!("{length} {key}=").as_bytes());
            body.extend_from_slice(value);
            body.push(b'\n');
        }
        self.entry(EntryType::XHeader, "extended", "", 0o644, &body)
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }
}

/// An image of these archives, stored without compression.
pub(crate) fn image_of(layout: &Layout, layers: &[Vec<u8>]) -> Image {
    let layers: Vec<_> = layers
        .iter()
        .map(|layer| (Compression::None, layer.clone(), layer.clone()))
        .collect();
    image_of_stored(layout, &layers)
}

/// An image of layers given as compression, stored bytes and the archive they should unpack to.
pub(crate) fn image_of_stored(
    layout: &Layout,
    layers: &[(Compression, Vec<u8>, Vec<u8>)],
) -> Image {
    let put = |media_type, bytes: &[u8]| layout.put_blob(media_type, bytes).unwrap();
    let diff_ids = layers
        .iter()
        .map(|(_, _, archive)| digest_of(Algorithm::Sha256, archive))
        .collect();
    let config = ImageConfig {
        os: "linux".into(),
        architecture: Platform::host().architecture,
        rootfs: RootFileSystem {
            diff_ids,
            ..RootFileSystem::default()
        },
        ..ImageConfig::default()
    };
    let config = put(MediaType::OciConfig, &serde_json::to_vec(&config).unwrap());
    let layers = layers
        .iter()
        .map(|(compression, stored, _)| put(MediaType::OciLayer(*compression), stored))
        .collect();
    let manifest = ImageManifest::new(config, layers);
    let descriptor = put(
        MediaType::OciManifest,
        &serde_json::to_vec(&manifest).unwrap(),
    );
    layout
        .add(&descriptor, Some(&crate::Tag::latest()))
        .unwrap();
    Image::open(layout, &descriptor, &Platform::host()).unwrap()
}

/// One line for each thing below a directory: kind, mode, owner, times, links and contents.
pub(crate) fn census(directory: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut first_names = std::collections::BTreeMap::new();
    count(directory, Path::new(""), &mut first_names, &mut lines);
    lines
}

fn count(
    directory: &Path,
    name: &Path,
    first_names: &mut std::collections::BTreeMap<u64, String>,
    lines: &mut Vec<String>,
) {
    use std::os::unix::fs::MetadataExt as _;
    let path = directory.join(name);
    let metadata = fs::symlink_metadata(&path).unwrap();
    let shown = name.display().to_string();
    let what = if metadata.is_symlink() {
        format!("-> {}", fs::read_link(&path).unwrap().display())
    } else if metadata.is_dir() {
        String::new()
    } else {
        let first = first_names
            .entry(metadata.ino())
            .or_insert_with(|| shown.clone());
        let digest = digest_of(Algorithm::Sha256, &fs::read(&path).unwrap());
        format!("{} bytes {digest} first {first}", metadata.len())
    };
    lines.push(format!(
        "{shown} {:o} {}:{} {}.{:09} {what}",
        metadata.mode(),
        metadata.uid(),
        metadata.gid(),
        metadata.mtime(),
        metadata.mtime_nsec(),
    ));
    if metadata.is_dir() {
        let mut names: Vec<_> = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort_unstable();
        for child in names {
            count(directory, &name.join(child), first_names, lines);
        }
    }
}
