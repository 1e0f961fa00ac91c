#!/bin/sh
i=0; while [ $i -lt ${N:-20000} ]; do i=$((i+1)); done
echo '{"loop":{"latency":{"value":'$(( $(cut -d" " -f1 /proc/uptime | tr -d .) % 100 + ${N:-20000}/100 ))'}}}'
