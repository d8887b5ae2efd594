#!/bin/sh
# The guest's first process: mounts, modules, addresses, the RDMA link, the
# agent. Settings come on the kernel's command line as guest.NAME=VALUE.
export PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/root TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs tmp /dev/shm
for word in $(cat /proc/cmdline); do
	case $word in guest.*) eval "${word#guest.}" ;; esac
done

release=$(uname -r)
load() {
	while read -r module; do
		insmod "/lib/modules/$release/$module" || echo "guest: insmod $module failed"
	done <"/lib/modules/$release/$1.load"
}
load boot
[ "$rdma" = no ] || load rdma
for module in $(echo "$modules" | tr , ' '); do
	modprobe "$module" || echo "guest: modprobe $module failed"
done

# The NICs are known by their addresses: cc is control, dd is data.
ip link set lo up
for dev in /sys/class/net/*/; do
	dev=${dev%/}
	case $(cat "$dev/address") in
	52:54:00:cc:*) control=${dev##*/} ;;
	52:54:00:dd:*) data=${dev##*/} ;;
	esac
done
ip link set "$control" name ctl0
[ "$data" = eth0 ] || ip link set "$data" name eth0
if [ -d /proc/sys/net/ipv6 ]; then # it is not there with ipv6.disable=1
	echo 1 >/proc/sys/net/ipv6/conf/ctl0/disable_ipv6
	echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
	ip -6 addr add "$ip6" dev eth0 nodad
fi
ip addr add "$ctl" dev ctl0
ip link set ctl0 up
ip link set eth0 mtu "$mtu"
ip addr add "$ip4" dev eth0
ip link set eth0 up
# The kernel notices the carrier with a delay of up to a second; until then
# eth0 has no link-local address and IPv6 does not work.
tries=0
while [ "$(cat /sys/class/net/eth0/operstate)" != up ] && [ $tries -lt 250 ]; do
	tries=$((tries + 1))
	sleep 0.02
done
hostname guest
[ "$rdma" = no ] || rdma link add rxe0 type rxe netdev eth0 || echo "guest: rdma link add failed"

# The agent connects to the harness; when that is gone there is no use in
# going on.
/bin/agent "$agent" "$token"
echo "guest: agent ended with status $?"
poweroff -f
