/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vendor/osm_vendor_snoop.h>

#include "attach.h"
#include "error.h"
#include "tap.h"

/* The relocations that name a symbol: a call, a table entry, a pointer. */
#if defined(__x86_64__)
enum {
	RELOC_CALL = R_X86_64_JUMP_SLOT,
	RELOC_TABLE = R_X86_64_GLOB_DAT,
	RELOC_POINTER = R_X86_64_64,
};
#elif defined(__aarch64__)
enum {
	RELOC_CALL = R_AARCH64_JUMP_SLOT,
	RELOC_TABLE = R_AARCH64_GLOB_DAT,
	RELOC_POINTER = R_AARCH64_ABS64,
};
#else
#error "attach.c knows the relocations of x86-64 and aarch64 only"
#endif

/* One address in a loaded object that leads to the vendor layer. */
struct site {
	_Atomic(void *) *slot;
	void *before;		/* what it held */
	void *tap;
	int protection;		/* of its page */
};

struct sites {
	struct site *list;
	size_t n, max;
	size_t tapped;		/* found, leading to the tap already ... */
	size_t in_place;	/* ... and not because of attach */
	ib_api_status_t status;
	struct tap_symbol symbols[TAP_SYMBOLS];
	/* each name in the program's scope, or NULL */
	const void *resolved[TAP_SYMBOLS];
	/* the address of a function as a program at a fixed address has it:
	 * its own stub, which goes on through a call that is found too */
	const void *canonical[TAP_SYMBOLS];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct site *attached;	/* what attach rewrote, to be undone */
static size_t n_attached;
static bool in_place;		/* calls led to the tap without attach */

/* The parts of one loaded object's dynamic section that matter here. */
struct object {
	const char *name;
	ElfW(Addr) base;
	const struct dl_phdr_info *info;
	const ElfW(Sym) *symbols;
	const char *strings;
	const ElfW(Rela) *calls;
	size_t n_calls;
	const ElfW(Rela) *data;
	size_t n_data;
};

/* glibc has made these absolute, but not for what it maps read-only (vDSO) */
static const void *address(ElfW(Addr) base, ElfW(Addr) value)
{
	return (const void *)(value < base ? base + value : value);
}

static bool object_read(struct object *o, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dyn = NULL;
	int i;

	*o = (struct object){
		.name = info->dlpi_name && *info->dlpi_name ? info->dlpi_name :
							      "the program",
		.base = info->dlpi_addr,
		.info = info,
	};
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const ElfW(Dyn) *)(info->dlpi_addr +
						  info->dlpi_phdr[i].p_vaddr);
	if (!dyn)
		return false;
	for (; dyn->d_tag != DT_NULL; dyn++) {
		switch (dyn->d_tag) {
		case DT_SYMTAB:
			o->symbols = address(o->base, dyn->d_un.d_ptr);
			break;
		case DT_STRTAB:
			o->strings = address(o->base, dyn->d_un.d_ptr);
			break;
		case DT_JMPREL:
			o->calls = address(o->base, dyn->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			o->n_calls = dyn->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_RELA:
			o->data = address(o->base, dyn->d_un.d_ptr);
			break;
		case DT_RELASZ:
			o->n_data = dyn->d_un.d_val / sizeof(ElfW(Rela));
			break;
		default:
			break;
		}
	}
	return o->symbols && o->strings;
}

static bool object_contains(const struct object *o, const void *p)
{
	ElfW(Addr) a = (ElfW(Addr))p;
	int i;

	for (i = 0; i < o->info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &o->info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && a >= o->base + ph->p_vaddr &&
		    a < o->base + ph->p_vaddr + ph->p_memsz)
			return true;
	}
	return false;
}

static bool add(struct sites *sites, void *slot, void *before, void *tap)
{
	struct site *list;

	if (sites->n == sites->max) {
		sites->max = sites->max ? sites->max * 2 : 16;
		list = realloc(sites->list, sites->max * sizeof(*list));
		if (!list) {
			snoop_error("no memory for %zu sites", sites->max);
			sites->status = IB_INSUFFICIENT_MEMORY;
			return false;
		}
		sites->list = list;
	}
	sites->list[sites->n++] = (struct site){ slot, before, tap, 0 };
	return true;
}

static bool is_attached(const _Atomic(void *) *slot)
{
	size_t i;

	for (i = 0; i < n_attached; i++)
		if (attached[i].slot == slot)
			return true;
	return false;
}

/*
 * A call that was not made yet leads to a stub of its object, and will be
 * resolved by name: in the program's scope first, then in the object's own,
 * where the object itself may have a function of this name.
 */
static const void *call_leads(const struct object *o, const ElfW(Sym) *symbol,
			      const void *value, const void *resolved,
			      const void *vendor)
{
	const void *own = NULL;

	if (symbol->st_shndx != SHN_UNDEF)
		own = (const void *)(o->base + symbol->st_value);
	if (!object_contains(o, value) || value == own)
		return value;
	return resolved ? resolved : own ? own : vendor;
}

/*
 * May this value be replaced? It has to lead to the vendor layer: directly,
 * through the program's stub, or through the object's own stub whose name the
 * dynamic linker will find there. A pointer that the program has set to
 * something else is the program's business; a call that leads elsewhere means
 * that somebody else stands in between.
 */
static bool consider(struct sites *sites, const struct object *o, size_t k,
		     const ElfW(Sym) *symbol, unsigned type,
		     _Atomic(void *) *slot)
{
	const struct tap_symbol *wanted = &sites->symbols[k];
	void *value = atomic_load(slot);
	const void *leads = value;

	if (symbol->st_shndx == SHN_UNDEF && symbol->st_value)
		sites->canonical[k] =
			(const void *)(o->base + symbol->st_value);
	if (type == RELOC_CALL)
		leads = call_leads(o, symbol, value, sites->resolved[k],
				   wanted->vendor);
	if (leads == wanted->tap) {
		sites->tapped++;
		if (!is_attached(slot))
			sites->in_place++;
		return true;
	}
	if (leads == wanted->vendor ||
	    (leads && leads == sites->canonical[k]))
		return add(sites, slot, value, wanted->tap);
	if (type == RELOC_POINTER)
		return true;
	snoop_error("%s in %s leads to %p already, which is not libosmvendor's",
		    wanted->name, o->name, leads);
	sites->status = IB_INVALID_STATE;
	return false;
}

static bool search(struct sites *sites, const struct object *o,
		   const ElfW(Rela) *rela, size_t n)
{
	const ElfW(Sym) *symbol;
	const char *name;
	unsigned type;
	size_t i, k;

	for (i = 0; i < n; i++) {
		type = (unsigned)ELF64_R_TYPE(rela[i].r_info);
		if (type != RELOC_CALL && type != RELOC_TABLE &&
		    type != RELOC_POINTER)
			continue;
		symbol = &o->symbols[ELF64_R_SYM(rela[i].r_info)];
		name = o->strings + symbol->st_name;
		for (k = 0; k < TAP_SYMBOLS; k++)
			if (!strcmp(name, sites->symbols[k].name) &&
			    !consider(sites, o, k, symbol, type,
				      (_Atomic(void *) *)(o->base +
							  rela[i].r_offset)))
				return false;
	}
	return true;
}

static int search_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct sites *sites = context;
	struct object o;

	(void)size;
	if (!object_read(&o, info) ||
	    object_contains(&o, sites->symbols[0].tap))
		return 0;
	/* calls first: they tell the program's canonical addresses */
	return !search(sites, &o, o.calls, o.n_calls) ||
	       !search(sites, &o, o.data, o.n_data);
}

/* The protection of the page at `p` as the kernel has it, or -1. */
static int protection_of(const void *p)
{
	unsigned long from, to, at = (unsigned long)p;
	char line[512], flags[5];
	int protection = -1;
	FILE *maps = fopen("/proc/self/maps", "re");

	if (!maps)
		return -1;
	while (protection < 0 && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %4s", &from, &to, flags) != 3 ||
		    at < from || at >= to)
			continue;
		protection = (flags[0] == 'r' ? PROT_READ : 0) |
			     (flags[1] == 'w' ? PROT_WRITE : 0) |
			     (flags[2] == 'x' ? PROT_EXEC : 0);
	}
	fclose(maps);
	return protection;
}

/* Write one site and leave its page as it was. */
static bool site_write(const struct site *site, void *value)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *start = (void *)((uintptr_t)site->slot & ~(page - 1));
	bool locked = !(site->protection & PROT_WRITE);

	if (locked && mprotect(start, page, site->protection | PROT_WRITE)) {
		snoop_error("the page of a call to the vendor layer cannot be made writable: %s",
			    strerror(errno));
		return false;
	}
	atomic_store(site->slot, value);
	if (!locked)
		return true;
	if (mprotect(start, page, site->protection)) {
		snoop_error("the page of a call to the vendor layer cannot be protected again: %s",
			    strerror(errno));
		return false;
	}
	if (protection_of(start) != site->protection) {
		snoop_error("the page of a call to the vendor layer has another protection than before");
		return false;
	}
	return true;
}

static bool write_all(struct sites *sites)
{
	size_t i;

	for (i = 0; i < sites->n; i++) {
		sites->list[i].protection =
			protection_of((void *)sites->list[i].slot);
		if (sites->list[i].protection < 0) {
			snoop_error("/proc/self/maps does not tell the protection of a call to the vendor layer");
			return false;
		}
	}
	for (i = 0; i < sites->n; i++)
		if (!site_write(&sites->list[i], sites->list[i].tap))
			goto undo;
	return true;
undo:
	/* the one that failed may have been written; both know its value */
	do
		site_write(&sites->list[i], sites->list[i].before);
	while (i--);
	return false;
}

/* Room to remember them, before anything is written. */
static bool reserve(const struct sites *sites)
{
	struct site *all;

	if (!sites->n)
		return true;
	all = realloc(attached, (n_attached + sites->n) * sizeof(*all));
	if (!all) {
		snoop_error("no memory for %zu sites",
			    n_attached + sites->n);
		return false;
	}
	attached = all;
	return true;
}

/* As the program sees it. RTLD_DEFAULT would look into our own scope, too. */
static void *resolve(const char *name)
{
	void *program = dlopen(NULL, RTLD_LAZY), *symbol;

	if (!program)
		return NULL;
	symbol = dlsym(program, name);
	dlclose(program);
	return symbol;
}

static ib_api_status_t attach_all(void)
{
	struct sites sites = { .status = IB_SUCCESS };
	size_t k;

	if (!tap_find_vendor()) {
		snoop_error("libosmvendor's osm_vendor_bind and osm_vendor_send are not to be found in this process");
		return IB_NOT_FOUND;
	}

	/* not in search_object, which runs under another of ld.so's locks */
	tap_get_symbols(sites.symbols);
	for (k = 0; k < TAP_SYMBOLS; k++)
		sites.resolved[k] = resolve(sites.symbols[k].name);

	pthread_mutex_lock(&mutex);
	if (dl_iterate_phdr(search_object, &sites))
		goto out;
	if (!sites.n && !sites.tapped) {
		snoop_error("no loaded object calls osm_vendor_bind or osm_vendor_send through the dynamic linker");
		sites.status = IB_NOT_FOUND;
		goto out;
	}
	if (!reserve(&sites)) {
		sites.status = IB_INSUFFICIENT_MEMORY;
		goto out;
	}
	if (!write_all(&sites)) {
		sites.status = IB_INVALID_PERMISSION;
		goto out;
	}
	if (sites.n)
		memcpy(attached + n_attached, sites.list,
		       sites.n * sizeof(*attached));
	n_attached += sites.n;
	in_place |= sites.in_place > 0;
out:
	pthread_mutex_unlock(&mutex);
	free(sites.list);
	return sites.status;
}

ib_api_status_t osm_vendor_snoop_attach(void)
{
	ib_api_status_t status;
	int state;

	/* it reads files, with a lock and with a part of the calls written */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	status = attach_all();
	pthread_setcancelstate(state, NULL);
	return status;
}

/* Is the site still part of a loaded object, and still ours? */
struct lookup {
	const struct site *site;
	bool found;
};

static int lookup_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct lookup *lookup = context;
	struct object o = { .base = info->dlpi_addr, .info = info };

	(void)size;
	lookup->found = object_contains(&o, (void *)lookup->site->slot);
	return lookup->found;
}

ib_api_status_t osm_vendor_snoop_detach(void)
{
	struct lookup lookup;
	size_t i, left = 0;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&mutex);
	for (i = 0; i < n_attached; i++) {
		lookup = (struct lookup){ .site = &attached[i] };
		if (!dl_iterate_phdr(lookup_object, &lookup) ||
		    atomic_load(attached[i].slot) != attached[i].tap)
			continue;
		if (!site_write(&attached[i], attached[i].before))
			attached[left++] = attached[i];
	}
	n_attached = left;
	if (!left) {
		free(attached);
		attached = NULL;
	}
	pthread_mutex_unlock(&mutex);
	pthread_setcancelstate(state, NULL);
	return left ? IB_INVALID_PERMISSION : IB_SUCCESS;
}

bool attach_is_tapped(void)
{
	struct tap_symbol symbols[TAP_SYMBOLS];
	bool tapped;

	pthread_mutex_lock(&mutex);
	tapped = n_attached > 0 || in_place;
	pthread_mutex_unlock(&mutex);
	if (tapped)
		return true;
	tap_get_symbols(symbols);
	return resolve(symbols[1].name) == symbols[1].tap;
}
