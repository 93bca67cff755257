# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The real kernel: Debian's, in a virtual machine that lives as long as one
# command. It has an RDMA device without hardware (rdma_rxe on a dummy network
# device, rxe0) and /dev/infiniband/umad0. A test sources fabric/lib.sh, whose
# fabric_begin gives it a folder and TAP, and this file:
#
#	vm_find_kernel || ...		"$VM_REASON" says why there is none
#	vm_run COMMAND [ARGUMENT]...	its output and status, from inside
#
# The machine is emulated (tcg): /dev/kvm is not there everywhere, and where
# it is it may hang. No privilege is needed.
#
# Environment:
#
#	VM_CACHE	where the kernel's package is unpacked, and found
#			again by the next test; default: the test's folder

VM_REASON=
VM_KERNEL=	# the image
VM_ROOT=	# lib/modules is in it
VM_RELEASE=

VM_MODULES='rdma_rxe ib_umad dummy crc32_generic'

# vm_unpack DIRECTORY: the kernel that linux-image-amd64 stands for
vm_unpack()
{
	local package

	package=$(apt-cache depends linux-image-amd64 2>/dev/null |
		awk '$1 == "Depends:" { print $2; exit }')
	[ -n "$package" ] || return 1
	mkdir -p "$1.$$" && (
		cd "$1.$$" || exit 1
		apt-get download "$package" && dpkg-deb -x "$package"_*.deb . &&
			rm "$package"_*.deb &&
			depmod -b "$PWD" "${package#linux-image-}"
	) >"$1.log" 2>&1 || return 1
	# another test may have been faster
	mv -T "$1.$$" "$1" 2>/dev/null || rm -rf "$1.$$"
}

vm_find_kernel()
{
	local tool cache=${VM_CACHE:-$FABRIC_DIR}/kernel

	PATH=$PATH:/usr/sbin:/sbin
	for tool in qemu-system-x86_64 busybox cpio modprobe depmod rdma; do
		command -v $tool >/dev/null && continue
		VM_REASON="there is no $tool"
		return 1
	done
	[ -d "$cache" ] || vm_unpack "$cache" || {
		VM_REASON="Debian's kernel cannot be had: $(tail -n 1 "$cache.log")"
		return 1
	}
	VM_ROOT=$cache
	VM_KERNEL=$(echo "$cache"/boot/vmlinuz-*)
	VM_RELEASE=${VM_KERNEL#*/vmlinuz-}
}

# vm_copy DIRECTORY PROGRAM: and what it is linked with, where it lies here
vm_copy()
{
	local file

	for file in "$2" $(ldd "$2" 2>/dev/null | grep -o '/[^ ]*'); do
		[ -e "$1$file" ] && continue
		mkdir -p "$1${file%/*}" && cp -L "$file" "$1$file" || return 1
	done
}

vm_modules()
{
	local module

	for module in $VM_MODULES; do
		modprobe -d "$VM_ROOT" -S "$VM_RELEASE" --show-depends \
			"$module" | awk '$1 == "insmod" { print $2 }'
	done | awk '!seen[$0]++'
}

# vm_image DIRECTORY COMMAND...: what the machine boots into
vm_image()
{
	local dir=$1 module

	shift
	mkdir -p "$dir"/{bin,proc,sys,dev,tmp,run,modules,etc/libibverbs.d}
	cp "$(command -v busybox)" "$dir/bin/busybox" || return 1
	vm_copy "$dir" "$(command -v rdma)" && vm_copy "$dir" "$1" || return 1
	for module in $(vm_modules); do
		cp "$module" "$dir/modules/" &&
			echo "insmod /modules/${module##*/}"
	done >"$dir/insert" || return 1
	cat >"$dir/init" <<-END
		#!/bin/busybox sh
		/bin/busybox --install -s /bin
		export PATH=/bin:/sbin:/usr/bin:/usr/sbin
		mount -t proc proc /proc
		mount -t sysfs sysfs /sys
		mount -t devtmpfs devtmpfs /dev
		. /insert
		ip link set lo up
		ip link add dummy0 type dummy
		ip addr add 192.0.2.1/24 dev dummy0
		ip link set dummy0 up
		$(command -v rdma) link add rxe0 type rxe netdev dummy0
		echo VM-BEGIN
		$(printf '%q ' "$@")
		echo VM-END \$?
		poweroff -f
	END
	chmod +x "$dir/init"
	(cd "$dir" && find . | cpio -o -H newc --quiet) | gzip -1 >"$dir.img"
}

# vm_run COMMAND [ARGUMENT]...: both streams of it, and its exit status; 125
# when the machine did not come that far
vm_run()
{
	local dir log status

	dir=$(mktemp -d "$FABRIC_DIR/vm.XXXXXX") || return 125
	log=$dir.log
	vm_image "$dir" "$@" || return 125
	timeout 240 qemu-system-x86_64 -accel tcg -m 512 -nodefaults \
		-display none -serial stdio -monitor none -no-reboot \
		-kernel "$VM_KERNEL" -initrd "$dir.img" \
		-append 'console=ttyS0 quiet panic=-1' </dev/null \
		>"$log" 2>"$dir.err"
	tr -d '\r' <"$log" | sed -n '/^VM-BEGIN$/,/^VM-END /{//!p}'
	status=$(tr -d '\r' <"$log" | sed -n 's/^VM-END //p')
	[ -n "$status" ] || {
		tail -n 20 "$log" "$dir.err" >&2
		return 125
	}
	return "$status"
}
