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
ifconfig lo 127.0.0.1
echo '+cpu +memory +pids +cpuset' > /sys/fs/cgroup/cgroup.subtree_control
cd /tmp

# The kernel writes its own log to the console without waiting for interrupts, which emulated serial lines have been seen to lose.
say() { while read -r line; do echo "<2>${line:0:900}" > /dev/kmsg; done; }
# Not with `sleep`, which is what jobs are known by here.
live() { while usleep 20000000; do echo 'the bare-metal host is alive'; done; }

# As a service manager would start it: in a group of its own.
service() {
    group=$(mktemp -d /sys/fs/cgroup/service.XXXXXX)
    sh -c 'echo $$ > $1/cgroup.procs; shift; exec "$@"' sh $group "$@"
}
runs() { image=$1; shift; service kiln runner run --image /images/$image --memory 64 --disk 16 --runner-data ${data:-/tmp/data} "$@"; }
well() { echo "well: $*"; }
not_well() { echo "NOT WELL: $*"; [ -e /tmp/said ] && cat /tmp/said; }
# check WHAT COMMAND...: says of one thing whether it is so.
check() { what=$1; shift; if "$@"; then well "$what"; else not_well "$what"; fi; }
# until_so COMMAND...: waits until something is so, for minutes at most.
until_so() { tries=0; until eval "$*" || [ $tries = 1000 ]; do tries=$((tries + 1)); usleep 200000; done; }
not() { ! "$@"; }
swappiness() { cat /proc/sys/vm/swappiness; }

an_image_runs_once_on_the_cores_of_a_partition() {
    runs cores --tuning on > /tmp/said 2>&1
    check 'an image runs once on a tuned host' [ $? = 0 ]
    check 'its chamber is on the benchmark core' grep -q 'Cpus_allowed_list:.1$' /tmp/said
    check 'the host is put back' [ "$(swappiness)" = 60 ]
    runs cores --tuning on --vcpus 2 > /tmp/said 2>&1
    check 'a job of two CPUs has both cores' grep -q 'Cpus_allowed_list:.0-1$' /tmp/said
}

a_second_runner_leaves_what_a_living_one_has_set() {
    runs waits --tuning on > /tmp/said 2>&1 &
    until_so '[ "$(swappiness)" = 10 ] && [ -n "$(pidof sleep)" ]'
    runs cores > /tmp/said 2>&1
    check 'a second runner without tuning runs' [ $? = 0 ]
    check 'it says that the host is tuned by another' grep -q 'Another runner tunes this host' /tmp/said
    check 'what the first has set is still there' [ "$(swappiness)" = 10 ]
    killall -TERM kiln
    wait %1
    check 'the first puts everything back' [ "$(swappiness)" = 60 ]
}

a_receipt_tells_of_what_was_changed_under_a_job() {
    runs cores --tuning on --json > /tmp/said 2>&1
    check 'nothing was changed under a job that nobody disturbed' not grep -q meanwhile: /tmp/said
    runs pauses --tuning on --json > /tmp/said 2>&1 &
    until_so '[ -n "$(pidof sleep)" ] && [ "$(swappiness)" = 10 ]'
    echo 33 > /proc/sys/vm/swappiness
    wait %1
    check 'a knob that was changed is told' grep -q 'swappiness meanwhile: .* reads 33 and no longer 10' /tmp/said
    check 'what was there before is back' [ "$(swappiness)" = 60 ]
}

a_runner_that_is_asked_to_stop_before_it_is_up_puts_its_host_back() {
    before=$(cat /proc/sys/kernel/randomize_va_space)
    service kiln runner up --host http://127.0.0.1:1 --runner r --key k --runner-data /tmp/data --tuning on > /tmp/said 2>&1 &
    runner=$!
    # One of the first that it sets.
    until [ "$(cat /proc/sys/kernel/randomize_va_space)" = 0 ]; do :; done
    killall -TERM kiln
    wait $runner
    check 'a runner that is stopped early ends well' [ $? = 0 ]
    check 'its host is put back' [ "$(cat /proc/sys/kernel/randomize_va_space)" = $before ]
    check 'and nothing is left to be put back' [ ! -e /run/kiln-tuning.journal ]
}

a_killed_runner_is_undone_by_one_with_another_directory() {
    runs waits --tuning on > /tmp/said 2>&1 &
    until_so '[ "$(swappiness)" = 10 ] && [ -n "$(pidof sleep)" ]'
    killall -KILL kiln
    wait %1
    check 'a killed runner puts nothing back' [ "$(swappiness)" = 10 ]
    data=/tmp/elsewhere runs cores > /tmp/said 2>&1
    check 'the next one does, wherever it has its data' [ "$(swappiness)" = 60 ]
    check 'and says so' grep -q 'Put back [0-9]* settings' /tmp/said
}

a_runner_that_becomes_another_program_tunes_again() {
    cp /bin/kiln /bin/runner
    cp /bin/kiln /bin/newer
    echo >> /bin/newer
    KILN_TEST_ROLE=server tests --exact bare_metal::plays_a_server > /dev/null 2>&1 &
    server=$!
    until_so '[ -e /tmp/listening ]'
    service runner runner up --host http://127.0.0.1:4000 --runner r --key k --runner-data /tmp/data \
        --tuning on --auto-update on > /tmp/said 2>&1 &
    runner=$!
    until_so '[ ! -e /bin/runner.trial ] && cmp -s /bin/runner /bin/newer'
    check 'the runner has become another program' cmp -s /bin/runner /bin/newer
    check 'that one has tuned the host' [ "$(swappiness)" = 10 ]
    check 'it has one partition' [ "$(cat /sys/fs/cgroup/kiln-run-*/cpuset.cpus.partition)" = isolated ]
    killall -TERM runner
    wait $runner
    check 'it puts everything back' [ "$(swappiness)" = 60 ]
    check 'no partition is left' [ "$(echo /sys/fs/cgroup/kiln-run-*)" = '/sys/fs/cgroup/kiln-run-*' ]
    kill $server
}

all() {
    an_image_runs_once_on_the_cores_of_a_partition
    a_second_runner_leaves_what_a_living_one_has_set
    a_receipt_tells_of_what_was_changed_under_a_job
    a_runner_that_is_asked_to_stop_before_it_is_up_puts_its_host_back
    a_killed_runner_is_undone_by_one_with_another_directory
    a_runner_that_becomes_another_program_tunes_again
    echo 'the bare-metal host has tried everything'
}
live | say &
all 2>&1 | say
poweroff -f
