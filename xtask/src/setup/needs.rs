//! What the tests need on the machine. To need one more program, add a line.

use super::probe::Proof;

#[derive(Debug)]
pub(super) struct Need {
    /// Debian's name for it.
    pub(super) package: &'static str,
    pub(super) proof: Proof,
    pub(super) why: &'static str,
}

const QEMU_PACKAGE: &str = if cfg!(target_arch = "aarch64") {
    "qemu-system-arm"
} else {
    "qemu-system-x86"
};

const QEMU: &str = if cfg!(target_arch = "aarch64") {
    "qemu-system-aarch64"
} else {
    "qemu-system-x86_64"
};

pub(super) const NEEDS: &[Need] = &[
    Need {
        package: "bubblewrap",
        proof: Proof::Program("bwrap"),
        why: "somebody else's sandbox, to measure ours beside",
    },
    Need {
        package: "buildah",
        proof: Proof::Program("buildah"),
        why: "somebody else's image builder, for the registry and for Dockerfiles",
    },
    Need {
        package: "busybox-static",
        proof: Proof::StaticProgram("busybox"),
        why: "a whole user land in one file, for the images of tests and demo",
    },
    Need {
        package: "cpio",
        proof: Proof::Program("cpio"),
        why: "somebody else's reading of a machine's initial file system",
    },
    Need {
        package: "crun",
        proof: Proof::Program("crun"),
        why: "somebody else's container runtime, to measure chambers beside",
    },
    Need {
        package: "docker-registry",
        proof: Proof::Program("docker-registry"),
        why: "somebody else's registry, for our OCI client",
    },
    Need {
        package: "podman",
        proof: Proof::Program("podman"),
        why: "somebody else's container engine, for the registry",
    },
    Need {
        package: "iproute2",
        proof: Proof::Program("ip"),
        why: "the network of a chamber",
    },
    Need {
        package: "nftables",
        proof: Proof::Program("nft"),
        why: "the filter of a chamber's network",
    },
    Need {
        package: "e2fsprogs",
        proof: Proof::Program("mke2fs"),
        why: "somebody else's file systems, and their check of ours",
    },
    Need {
        package: "postgresql",
        proof: Proof::PostgresServer { at_least: 14 },
        why: "the store is tested on a real PostgreSQL as well",
    },
    Need {
        package: QEMU_PACKAGE,
        proof: Proof::Program(QEMU),
        why: "machines on any host, emulated where it has no KVM",
    },
    Need {
        package: "skopeo",
        proof: Proof::Program("skopeo"),
        why: "somebody else's OCI client, for the registry",
    },
    Need {
        package: "util-linux",
        proof: Proof::Program("setpriv"),
        why: "tests run programs as an ordinary user",
    },
    Need {
        package: "umoci",
        proof: Proof::Program("umoci"),
        why: "somebody else's unpacking of images, to compare ours with",
    },
];

/// Used when they are there; nothing is lost without them but time.
#[derive(Debug)]
pub(super) struct CargoTool {
    pub(super) package: &'static str,
    pub(super) subcommand: &'static str,
    pub(super) why: &'static str,
}

pub(super) const CARGO_TOOLS: &[CargoTool] = &[CargoTool {
    package: "cargo-deny",
    subcommand: "deny",
    why: "a second opinion on licences and bans; optional: cargo install cargo-deny --locked",
}];
