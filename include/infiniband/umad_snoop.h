/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The call and the filter of libibumad's snoop API (linux-rdma, October 2010),
 * and the one place where the filter's rules are decided.
 *
 * No libibumad that was released has the call. Where one has it, define
 * UMAD_SNOOP_IN_LIBIBUMAD (pkg-config --cflags libosmvendor_snoop says so):
 * call and umad_filter_t are then <infiniband/umad.h>'s.
 */
#ifndef _UMAD_SNOOP_H
#define _UMAD_SNOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef UMAD_SNOOP_IN_LIBIBUMAD
#include <infiniband/umad.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef UMAD_SNOOP_IN_LIBIBUMAD
/**
 * umad_filter_t - which MADs are snooped
 * @mgmt_class:   only MADs of this class. 0: every class on QP1, none on QP0
 * @mgmt_version: only this class version. 0: any. Ignored when @mgmt_class
 *                is 0
 * @attr_id:      only this attribute, host byte order. 0: any. Ignored when
 *                @mgmt_class is 0
 * @errors:       not 0: only sent MADs that completed in error (but were not
 *                cancelled), and received MADs whose status is not 0
 * @oui:          not 0: only MADs with this OUI, in the order of the wire.
 *                Ignored unless @mgmt_class is 0x30 to 0x4f (vendor range 2)
 *
 * A MAD passes when it meets every restriction. 8 bytes, without padding.
 */
typedef struct umad_filter {
	uint8_t mgmt_class;
	uint8_t mgmt_version;
	uint16_t attr_id;
	uint8_t errors;
	uint8_t oui[3];
} umad_filter_t;

/**
 * umad_register_snoop - have the MADs of a port copied to it
 * @portid:        from umad_open_port()
 * @filter:        which MADs; read, not kept
 * @filter_length: sizeof(umad_filter_t), so that it can grow
 *
 * From now on umad_recv() on @portid returns, beside what its other agents
 * get, each MAD that passes @filter and that anybody sent or received on the
 * port: segments of RMPP, not messages, and what is sent when it completed,
 * with its status. It ends with umad_unregister() or umad_close_port().
 * Mainline kernels do not have this and refuse. umad_debug() levels above 0
 * print what is done. Any thread.
 *
 * Return: the agent's id, 0 or more; -EINVAL when @portid is no open umad port,
 * @filter is NULL or @filter_length another; -EPERM when the kernel refuses,
 * and then errno says how.
 */
int umad_register_snoop(int portid, umad_filter_t *filter,
			size_t filter_length);
#endif /* UMAD_SNOOP_IN_LIBIBUMAD */

/**
 * umad_filter_match - does a MAD pass a filter?
 * @filter: the filter
 * @mad:    the MAD from its common header on, network byte order
 * @len:    bytes at @mad; fewer than 24 never pass, and a restriction on a
 *          field behind @len is not met
 * @sent:   true for a MAD that was sent, false for one that was received
 * @completion_status: how a sent MAD completed; 0 is success. Cancelled are
 *          IB_CANCELED of the vendor layer (7), ECANCELED of errno (125) and
 *          IBV_WC_WR_FLUSH_ERR of ibv_wc_status (5), whichever of the three
 *          is meant: their other values overlap, so a 5 is no EIO and a 7 no
 *          IBV_WC_BAD_RESP_ERR. Every other value is an error. Ignored for a
 *          received MAD
 *
 * For class 0x81 the status of a received MAD is taken without its direction
 * bit. Any thread, no side effect.
 *
 * Return: true when the MAD passes; false when not, or when @filter or @mad
 * is NULL.
 */
bool umad_filter_match(const umad_filter_t *filter, const void *mad,
		       size_t len, bool sent, int completion_status);

#ifdef __cplusplus
}
#endif

#endif /* _UMAD_SNOOP_H */
