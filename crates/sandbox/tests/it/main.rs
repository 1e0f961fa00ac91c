//! Real chambers on this host. Needs Linux with user namespaces, `busybox` linked statically, and a C compiler that can
//! link statically.

#[cfg(test)]
mod bare_metal;
#[cfg(test)]
mod base;
#[cfg(test)]
mod blackbox;
#[cfg(test)]
mod boot;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod distroless;
#[cfg(test)]
mod files;
#[cfg(test)]
mod firecracker;
#[cfg(test)]
mod host_machine;
#[cfg(test)]
mod hosts;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod kept_networks;
#[cfg(test)]
mod leftovers;
#[cfg(test)]
mod network;
#[cfg(test)]
mod place;
#[cfg(test)]
mod process;
#[cfg(test)]
mod sealing;
#[cfg(test)]
mod support;
#[cfg(test)]
mod templates;
