#!/bin/busybox sh
# What the machine of bare_metal.rs does: it is a host with two cores, and this is all that runs on it.
export PATH=/bin HOME=/ RUST_BACKTRACE=0 SSL_CERT_FILE=/lib/certificates

# From the kernel's initial root, which no chamber could leave, to one in memory.
if [ ! -e /moved ]; then
    mkdir /new
    mount -t tmpfs -o mode=755,size=80% root /new
    cp -a /bin /lib /lib64 /images /modules /start /new/
    touch /new/moved
    exec switch_root /new /start
fi
mkdir -p /proc /sys /dev /run /tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t cgroup2 groups /sys/fs/cgroup
insmod /modules/overlay.ko
echo '+cpu +memory +pids +cpuset' > /sys/fs/cgroup/cgroup.subtree_control
cd /tmp

# The kernel writes its own log to the console without waiting for interrupts, which emulated serial lines have been seen to lose.
say() { while read -r line; do echo "<2>${line:0:900}" > /dev/kmsg; done; }
live() { while sleep 20; do echo 'the bare-metal host is alive'; done; }

# As a service manager would start it: in a group of its own.
kiln() {
    mkdir -p /sys/fs/cgroup/kiln.service
    sh -c 'echo $$ > /sys/fs/cgroup/kiln.service/cgroup.procs; exec /bin/kiln "$@"' kiln "$@"
}
runs() { image=$1; shift; kiln runner run --image /images/$image --memory 64 --disk 16 --runner-data /tmp/data "$@"; }
well() { echo "well: $*"; }
not_well() { echo "NOT WELL: $*"; [ -e /tmp/said ] && cat /tmp/said; }
# check WHAT COMMAND...: says of one thing whether it is so.
check() { what=$1; shift; if "$@"; then well "$what"; else not_well "$what"; fi; }
swappiness() { cat /proc/sys/vm/swappiness; }

an_image_runs_once_on_the_cores_of_a_partition() {
    runs cores --tuning on > /tmp/said 2>&1
    check 'an image runs once on a tuned host' [ $? = 0 ]
    check 'its chamber is on the benchmark core' grep -q 'Cpus_allowed_list:.1$' /tmp/said
    check 'the host is put back' [ "$(swappiness)" = 60 ]
}

a_second_runner_leaves_what_a_living_one_has_set() {
    runs waits --tuning on > /tmp/said 2>&1 &
    until [ "$(swappiness)" = 10 ] && [ -n "$(pidof sleep)" ]; do usleep 100000; done
    runs cores > /tmp/said 2>&1
    check 'a second runner without tuning runs' [ $? = 0 ]
    check 'it says that the host is tuned by another' grep -q 'Another runner tunes this host' /tmp/said
    check 'what the first has set is still there' [ "$(swappiness)" = 10 ]
    killall -TERM kiln
    wait %1
    check 'the first puts everything back' [ "$(swappiness)" = 60 ]
}

all() {
    an_image_runs_once_on_the_cores_of_a_partition
    a_second_runner_leaves_what_a_living_one_has_set
    echo 'the bare-metal host has tried everything'
}
live | say &
all 2>&1 | say
poweroff -f
