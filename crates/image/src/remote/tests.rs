mod docker_registry;
mod faults;
