; ---- blocks

; A header's address, and the data behind it, from the first address that the header may have
define internal ptr @block(ptr %data, ptr %begin, i64 %mapped, i64 %capacity) {
entry:
  %header = getelementptr i8, ptr %data, i64 -64
  call void @set(ptr %header, i64 $begin, ptr %begin)
  call void @set_word(ptr %header, i64 $mapped, i64 %mapped)
  call void @set_word(ptr %header, i64 $capacity, i64 %capacity)
  ret ptr %data
}

define internal ptr @small_block(i64 %size) {
entry:
  %absurd = icmp uge i64 %size, $too_large
  br i1 %absurd, label %none, label %ask
ask:
  %padded = add i64 %size, 63
  %capacity = and i64 %padded, -64
  %whole = add i64 %capacity, 128
  %begin = call ptr @libc.malloc(i64 %whole)
  %failed = icmp eq ptr %begin, null
  br i1 %failed, label %none, label %align
align:
  %behind = getelementptr i8, ptr %begin, i64 127
  %data = call ptr @llvm.ptrmask.p0.i64(ptr %behind, i64 -64)
  %made = call ptr @block(ptr %data, ptr %begin, i64 0, i64 %capacity)
  ret ptr %made
none:
  ret ptr null
}

; Whole huge pages, unless that wastes more than an eighth; one page before them is for the header
define internal ptr @huge_block(ptr %state, i64 %size) {
entry:
  %absurd = icmp uge i64 %size, $too_large
  br i1 %absurd, label %none, label %round
round:
  %page = call i64 @word(ptr %state, i64 $page)
  %huge.up = add i64 %size, $huge_page_less_1
  %huge = and i64 %huge.up, -$huge_page
  %page.less.1 = sub i64 %page, 1
  %up = add i64 %size, %page.less.1
  %page.mask = sub i64 0, %page
  %plain = and i64 %up, %page.mask
  %waste = sub i64 %huge, %size
  %eighth = lshr i64 %size, 3
  %wasteful = icmp ugt i64 %waste, %eighth
  %capacity = select i1 %wasteful, i64 %plain, i64 %huge
  %slack = add i64 %page, $huge_page
  %whole = add i64 %capacity, %slack
  %region = call ptr @libc.mmap(ptr null, i64 %whole, i32 $protection, i32 $mapping, i32 -1, i64 0)
  %failed = icmp eq ptr %region, inttoptr (i64 -1 to ptr)
  br i1 %failed, label %none, label %align
align:
  %reach = add i64 %page, $huge_page_less_1
  %behind = getelementptr i8, ptr %region, i64 %reach
  %data = call ptr @llvm.ptrmask.p0.i64(ptr %behind, i64 -$huge_page)
  %minus.page = sub i64 0, %page
  %begin = getelementptr i8, ptr %data, i64 %minus.page
  %begin.int = ptrtoint ptr %begin to i64
  %region.int = ptrtoint ptr %region to i64
  %before = sub i64 %begin.int, %region.int
  %front.none = icmp eq i64 %before, 0
  br i1 %front.none, label %back, label %front
front:
  %front.ignored = call i32 @libc.munmap(ptr %region, i64 %before)
  br label %back
back:
  %mapped = add i64 %capacity, %page
  %used = add i64 %before, %mapped
  %after = sub i64 %whole, %used
  %back.none = icmp eq i64 %after, 0
  br i1 %back.none, label %advise, label %cut
cut:
  %end = getelementptr i8, ptr %begin, i64 %mapped
  %cut.ignored = call i32 @libc.munmap(ptr %end, i64 %after)
  br label %advise
advise:
  %advice = call i64 @word(ptr %state, i64 $advice)
  %advice.none = icmp eq i64 %advice, 0
  br i1 %advice.none, label %done, label %tell
tell:
  %advice.int = trunc i64 %advice to i32
  %tell.ignored = call i32 @libc.madvise(ptr %data, i64 %capacity, i32 %advice.int)
  br label %done
done:
  %made = call ptr @block(ptr %data, ptr %begin, i64 %mapped, i64 %capacity)
  ret ptr %made
none:
  ret ptr null
}

define internal void @return_block(ptr %data) {
entry:
  %header = getelementptr i8, ptr %data, i64 -64
  %begin = call ptr @pointer(ptr %header, i64 $begin)
  %mapped = call i64 @word(ptr %header, i64 $mapped)
  %from.malloc = icmp eq i64 %mapped, 0
  br i1 %from.malloc, label %free, label %unmap
free:
  call void @libc.free(ptr %begin)
  ret void
unmap:
  %ignored = call i32 @libc.munmap(ptr %begin, i64 %mapped)
  ret void
}

; Blocks linked through their headers
define internal void @return_blocks(ptr %first) {
entry:
  br label %head
head:
  %data = phi ptr [ %first, %entry ], [ %following, %one ]
  %done = icmp eq ptr %data, null
  br i1 %done, label %end, label %one
one:
  %header = getelementptr i8, ptr %data, i64 -64
  %following = call ptr @pointer(ptr %header, i64 $next)
  call void @return_block(ptr %data)
  br label %head
end:
  ret void
}

; ---- the table of free blocks

define internal i1 @acquire(ptr %state) {
entry:
  %pair = cmpxchg ptr %state, i64 0, i64 1 acquire monotonic
  %got = extractvalue { i64, i1 } %pair, 1
  ret i1 %got
}

define internal void @relinquish(ptr %state) {
entry:
  store atomic i64 0, ptr %state release, align 8
  ret void
}

define internal ptr @entry_at(ptr %state, i64 %i) {
entry:
  %offset = mul i64 %i, 3
  %position = add i64 %offset, $entries
  %at = getelementptr i64, ptr %state, i64 %position
  ret ptr %at
}

; Takes entry i out of the table; the last one moves to its place
define internal ptr @take_out(ptr %state, i64 %i) {
entry:
  %at = call ptr @entry_at(ptr %state, i64 %i)
  %data = call ptr @pointer(ptr %at, i64 0)
  %capacity = call i64 @word(ptr %at, i64 1)
  %held = call i64 @word(ptr %state, i64 $held)
  %held.less = sub i64 %held, %capacity
  call void @set_word(ptr %state, i64 $held, i64 %held.less)
  %count = call i64 @word(ptr %state, i64 $count)
  %last = sub i64 %count, 1
  call void @set_word(ptr %state, i64 $count, i64 %last)
  %last.at = call ptr @entry_at(ptr %state, i64 %last)
  call void @llvm.memmove.p0.p0.i64(ptr %at, ptr %last.at, i64 24, i1 false)
  ret ptr %data
}

; The free block that fits best, of equals the one released last; null if there is none, or the table is in use
define internal ptr @reuse(ptr %state, i64 %size) {
entry:
  %got = call i1 @acquire(ptr %state)
  br i1 %got, label %search, label %none
search:
  %count = call i64 @word(ptr %state, i64 $count)
  %quarter = lshr i64 %size, 2
  %most = add i64 %size, %quarter
  br label %head
head:
  %i = phi i64 [ 0, %search ], [ %i.next, %next ]
  %best = phi i64 [ -1, %search ], [ %best.next, %next ]
  %best.capacity = phi i64 [ -1, %search ], [ %best.capacity.next, %next ]
  %best.time = phi i64 [ 0, %search ], [ %best.time.next, %next ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %next, label %found
next:
  %at = call ptr @entry_at(ptr %state, i64 %i)
  %capacity = call i64 @word(ptr %at, i64 1)
  %time = call i64 @word(ptr %at, i64 2)
  %enough = icmp uge i64 %capacity, %size
  %near = icmp ule i64 %capacity, %most
  %fits = and i1 %enough, %near
  %smaller = icmp ult i64 %capacity, %best.capacity
  %equal = icmp eq i64 %capacity, %best.capacity
  %later = icmp ugt i64 %time, %best.time
  %equal.later = and i1 %equal, %later
  %preferred = or i1 %smaller, %equal.later
  %better = and i1 %fits, %preferred
  %best.next = select i1 %better, i64 %i, i64 %best
  %best.capacity.next = select i1 %better, i64 %capacity, i64 %best.capacity
  %best.time.next = select i1 %better, i64 %time, i64 %best.time
  %i.next = add i64 %i, 1
  br label %head
found:
  %missed = icmp eq i64 %best, -1
  br i1 %missed, label %miss, label %hit
hit:
  %hits = call i64 @word(ptr %state, i64 $hits)
  %hits.more = add i64 %hits, 1
  call void @set_word(ptr %state, i64 $hits, i64 %hits.more)
  %data = call ptr @take_out(ptr %state, i64 %best)
  call void @relinquish(ptr %state)
  ret ptr %data
miss:
  %misses = call i64 @word(ptr %state, i64 $misses)
  %misses.more = add i64 %misses, 1
  call void @set_word(ptr %state, i64 $misses, i64 %misses.more)
  call void @relinquish(ptr %state)
  ret ptr null
none:
  ret ptr null
}

; Takes out the oldest blocks until at most %limit bytes in %entries entries are left, and links them. The lock is held.
define internal ptr @evict(ptr %state, i64 %limit, i64 %entries) {
entry:
  br label %head
head:
  %chain = phi ptr [ null, %entry ], [ %data, %out ]
  %held = call i64 @word(ptr %state, i64 $held)
  %count = call i64 @word(ptr %state, i64 $count)
  %small = icmp ule i64 %held, %limit
  %few = icmp ule i64 %count, %entries
  %fine = and i1 %small, %few
  %empty = icmp eq i64 %count, 0
  %done = or i1 %fine, %empty
  br i1 %done, label %end, label %oldest.head
oldest.head:
  %i = phi i64 [ 0, %head ], [ %i.next, %oldest.next ]
  %oldest = phi i64 [ 0, %head ], [ %oldest.so.far, %oldest.next ]
  %oldest.time = phi i64 [ -1, %head ], [ %time.so.far, %oldest.next ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %oldest.next, label %out
oldest.next:
  %at = call ptr @entry_at(ptr %state, i64 %i)
  %time = call i64 @word(ptr %at, i64 2)
  %older = icmp ult i64 %time, %oldest.time
  %oldest.so.far = select i1 %older, i64 %i, i64 %oldest
  %time.so.far = select i1 %older, i64 %time, i64 %oldest.time
  %i.next = add i64 %i, 1
  br label %oldest.head
out:
  %data = call ptr @take_out(ptr %state, i64 %oldest)
  %header = getelementptr i8, ptr %data, i64 -64
  call void @set(ptr %header, i64 $next, ptr %chain)
  br label %head
end:
  ret ptr %chain
}

; Gives back the oldest blocks down to %limit bytes; 0 if the table was in use
define i64 @tnp_pool_trim(ptr %state, i64 %limit) nounwind uwtable {
entry:
  %got = call i1 @acquire(ptr %state)
  br i1 %got, label %shrink, label %busy
shrink:
  %chain = call ptr @evict(ptr %state, i64 %limit, i64 $capacity_of_table)
  call void @relinquish(ptr %state)
  call void @return_blocks(ptr %chain)
  ret i64 1
busy:
  ret i64 0
}

; ---- NumPy's memory handler

define ptr @tnp_pool_malloc(ptr %state, i64 %size) nounwind uwtable {
entry:
  %is.large = icmp uge i64 %size, $large
  br i1 %is.large, label %large, label %small
large:
  %old = call ptr @reuse(ptr %state, i64 %size)
  %hit = icmp ne ptr %old, null
  br i1 %hit, label %reused, label %make
reused:
  ret ptr %old
make:
  %first = call ptr @fresh(ptr %state, i64 %size)
  %failed = icmp eq ptr %first, null
  br i1 %failed, label %again, label %made
made:
  ret ptr %first
again:
  %ignored = call i64 @tnp_pool_trim(ptr %state, i64 0)
  %second = call ptr @fresh(ptr %state, i64 %size)
  ret ptr %second
small:
  %little = call ptr @small_block(i64 %size)
  ret ptr %little
}

define internal ptr @fresh(ptr %state, i64 %size) {
entry:
  %is.huge = icmp uge i64 %size, $huge
  br i1 %is.huge, label %huge, label %small
huge:
  %mapped = call ptr @huge_block(ptr %state, i64 %size)
  ret ptr %mapped
small:
  %allocated = call ptr @small_block(i64 %size)
  ret ptr %allocated
}

define ptr @tnp_pool_calloc(ptr %state, i64 %count, i64 %size) nounwind uwtable {
entry:
  %pair = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %size)
  %bytes = extractvalue { i64, i1 } %pair, 0
  %over = extractvalue { i64, i1 } %pair, 1
  br i1 %over, label %none, label %allocate
allocate:
  %data = call ptr @tnp_pool_malloc(ptr %state, i64 %bytes)
  %failed = icmp eq ptr %data, null
  br i1 %failed, label %none, label %clear
clear:
  %cleared = call ptr @libc.memset(ptr %data, i32 0, i64 %bytes)
  ret ptr %data
none:
  ret ptr null
}

; The block stays if it is large enough, and not more than twice too large
define ptr @tnp_pool_realloc(ptr %state, ptr %data, i64 %size) nounwind uwtable {
entry:
  %none = icmp eq ptr %data, null
  br i1 %none, label %first, label %look
first:
  %made = call ptr @tnp_pool_malloc(ptr %state, i64 %size)
  ret ptr %made
look:
  %header = getelementptr i8, ptr %data, i64 -64
  %capacity = call i64 @word(ptr %header, i64 $capacity)
  %half = lshr i64 %capacity, 1
  %enough = icmp ule i64 %size, %capacity
  %much = icmp uge i64 %size, %half
  %stays = and i1 %enough, %much
  br i1 %stays, label %stay, label %move
stay:
  ret ptr %data
move:
  %moved = call ptr @tnp_pool_malloc(ptr %state, i64 %size)
  %failed = icmp eq ptr %moved, null
  br i1 %failed, label %no, label %copy
copy:
  %bytes = select i1 %enough, i64 %size, i64 %capacity
  %copied = call ptr @libc.memcpy(ptr %moved, ptr %data, i64 %bytes)
  call void @tnp_pool_free(ptr %state, ptr %data, i64 %capacity)
  ret ptr %moved
no:
  ret ptr null
}

; %size is what NumPy believes; the header knows better
define void @tnp_pool_free(ptr %state, ptr %data, i64 %size) nounwind uwtable {
entry:
  %none = icmp eq ptr %data, null
  br i1 %none, label %done, label %look
look:
  %header = getelementptr i8, ptr %data, i64 -64
  %capacity = call i64 @word(ptr %header, i64 $capacity)
  %limit = call i64 @word(ptr %state, i64 $limit)
  %is.large = icmp uge i64 %capacity, $large
  %can.be.held = icmp ule i64 %capacity, %limit
  %may.keep = and i1 %is.large, %can.be.held
  br i1 %may.keep, label %try, label %give
try:
  %got = call i1 @acquire(ptr %state)
  br i1 %got, label %keep, label %give
keep:
  %room = sub i64 %limit, %capacity
  %chain = call ptr @evict(ptr %state, i64 %room, i64 $capacity_of_table_less_1)
  %count = call i64 @word(ptr %state, i64 $count)
  %at = call ptr @entry_at(ptr %state, i64 %count)
  %clock = call i64 @word(ptr %state, i64 $clock)
  %now = add i64 %clock, 1
  call void @set_word(ptr %state, i64 $clock, i64 %now)
  call void @set(ptr %at, i64 0, ptr %data)
  call void @set_word(ptr %at, i64 1, i64 %capacity)
  call void @set_word(ptr %at, i64 2, i64 %now)
  %count.more = add i64 %count, 1
  call void @set_word(ptr %state, i64 $count, i64 %count.more)
  %held = call i64 @word(ptr %state, i64 $held)
  %held.more = add i64 %held, %capacity
  call void @set_word(ptr %state, i64 $held, i64 %held.more)
  call void @relinquish(ptr %state)
  call void @return_blocks(ptr %chain)
  ret void
give:
  call void @return_block(ptr %data)
  ret void
done:
  ret void
}

; ---- arrays

; A new array in a block of the pool; null with a Python exception set
define ptr @tnp_pool_array(ptr %state, ptr %descr, i32 %nd, ptr %shape, ptr %strides, i64 %size, i32 %flags) nounwind uwtable {
entry:
  %data = call ptr @tnp_pool_malloc(ptr %state, i64 %size)
  %none = icmp eq ptr %data, null
  br i1 %none, label %memory.error, label %make
memory.error:
  %always.null = call ptr @PyErr_NoMemory()
  ret ptr null
make:
  %type = call ptr @pointer(ptr %state, i64 $array_type)
  call void @Py_IncRef(ptr %descr)
  %array = call ptr @PyArray_NewFromDescr(ptr %type, ptr %descr, i32 %nd, ptr %shape, ptr %strides, ptr %data, i32 %flags, ptr null)
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %error, label %hand.over
error:
  call void @tnp_pool_free(ptr %state, ptr %data, i64 %size)
  ret ptr null
hand.over:
  %capsule = call ptr @pointer(ptr %state, i64 $capsule)
  call void @Py_IncRef(ptr %capsule)
  call void @set(ptr %array, i64 $mem_handler, ptr %capsule)
  %had = call i64 @word(ptr %array, i64 $flags)
  %owning = or i64 %had, $owndata
  call void @set_word(ptr %array, i64 $flags, i64 %owning)
  %address = ptrtoint ptr %data to i64
  %ignored = call i32 @PyTraceMalloc_Track(i32 $trace_domain, i64 %address, i64 %size)
  ret ptr %array
}

define internal void @set_word(ptr %p, i64 %i, i64 %x) alwaysinline {
  %at = getelementptr i64, ptr %p, i64 %i
  store i64 %x, ptr %at
  ret void
}
define internal void @set(ptr %p, i64 %i, ptr %x) alwaysinline {
  %at = getelementptr ptr, ptr %p, i64 %i
  store ptr %x, ptr %at
  ret void
}
