define ptr @tnp_launch(ptr %self, ptr %args, i64 %nargs) nounwind uwtable {
entry:
  %capsule = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %state = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  %first = load atomic ptr, ptr %state acquire, align 8
  br label %head
head:
  %descriptor = phi ptr [ %first, %entry ], [ %following, %next ]
  %ended = icmp eq ptr %descriptor, null
  br i1 %ended, label %slow, label %count
count:
  %inputs = call i64 @word(ptr %descriptor, i64 2)
  %count.fits = icmp eq i64 %inputs, %nargs
  br i1 %count.fits, label %fast, label %next
fast:
  %result = call ptr @attempt(ptr %descriptor, ptr %args, ptr %state)
  %answered = icmp ugt ptr %result, $refused
  %failed = icmp eq ptr %result, null
  %done = or i1 %answered, %failed
  br i1 %done, label %return, label %again
return:
  ret ptr %result
again:
  %declined = icmp eq ptr %result, $declined
  br i1 %declined, label %next, label %slow
next:
  %following = call ptr @pointer(ptr %descriptor, i64 $next)
  br label %head
slow:
  %function = call ptr @pointer(ptr %state, i64 1)
  %answer = call ptr @PyObject_Vectorcall(ptr %function, ptr %args, i64 %nargs, ptr null)
  ret ptr %answer
}

; What the kernel returns for these arguments; $declined (no address) if they do not fit, $refused if it does not take them
; A kernel that fails leaves a record in the slots, whose address goes to the Python function behind the arguments.
define internal ptr @attempt(ptr %descriptor, ptr %args, ptr %state) nounwind uwtable noinline {
entry:
  %overflow = alloca i32
  %inputs = call i64 @word(ptr %descriptor, i64 2)
  %outputs = call i64 @word(ptr %descriptor, i64 3)
  %both = add i64 %inputs, %outputs
  %dims.position = add i64 %both, $record_words
  %words = add i64 %dims.position, %inputs
  %slots = alloca ptr, i64 %words, align 16
  %numbers = alloca [16 x i8], i64 %both, align 16
  %results = alloca ptr, i64 %outputs, align 16
  %dims.of = getelementptr ptr, ptr %slots, i64 %dims.position
  %sized.dims = call i64 @word(ptr %descriptor, i64 9)
  %shapes = alloca i64, i64 %sized.dims, align 16
  %in.records = getelementptr i64, ptr %descriptor, i64 $header
  %in.words = mul i64 %inputs, $record
  %out.records = getelementptr i64, ptr %in.records, i64 %in.words
  br label %in.head

in.head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %in.next ]
  %in.more = icmp ult i64 %i, %inputs
  br i1 %in.more, label %in.type, label %sizes.check
in.type:
  %in.offset = mul i64 %i, $record
  %in = getelementptr i64, ptr %in.records, i64 %in.offset
  %slot = getelementptr ptr, ptr %slots, i64 %i
  %number = getelementptr [16 x i8], ptr %numbers, i64 %i
  store ptr %number, ptr %slot
  %arg = call ptr @pointer(ptr %args, i64 %i)
  %type = call i64 @word(ptr %arg, i64 $type)
  %type.expected = call i64 @word(ptr %in, i64 0)
  %type.fits = icmp eq i64 %type, %type.expected
  br i1 %type.fits, label %in.kind, label %declined
in.kind:
  %kind = call i64 @word(ptr %in, i64 1)
  switch i64 %kind, label %declined [
    i64 $in_array, label %array
    i64 $in_int, label %int
    i64 $in_float, label %float
    i64 $in_complex, label %complex
    i64 $in_scalar, label %scalar
  ]

array:
  %dims = call i64 @word(ptr %in, i64 2)
  %needed = call i64 @word(ptr %in, i64 6)
  %writes = and i64 %needed, $writeable
  %warns = shl i64 %writes, $warn_shift
  %asked = or i64 %needed, %warns
  %flags = call i64 @word(ptr %arg, i64 $flags)
  %flags.had = and i64 %flags, %asked
  %flags.fit = icmp eq i64 %flags.had, %needed
  %nd = call i64 @word(ptr %arg, i64 $nd)
  %nd.low = and i64 %nd, 4294967295
  %nd.fits = icmp eq i64 %nd.low, %dims
  %flags.nd.fit = and i1 %flags.fit, %nd.fits
  br i1 %flags.nd.fit, label %array.descr, label %declined
array.descr:
  %descr = call ptr @pointer(ptr %arg, i64 $descr)
  %descr.expected = call ptr @pointer(ptr %in, i64 5)
  %descr.same = icmp eq ptr %descr, %descr.expected
  br i1 %descr.same, label %array.shape, label %array.other
array.other:
  %exact = call i64 @word(ptr %in, i64 7)
  %very.dtype = icmp ne i64 %exact, 0
  br i1 %very.dtype, label %declined, label %array.equivalent
array.equivalent:
  %equivalent = call i8 @PyArray_EquivTypes(ptr %descr, ptr %descr.expected)
  %descr.fits = icmp ne i8 %equivalent, 0
  br i1 %descr.fits, label %array.shape, label %declined
array.shape:
  %shape = call ptr @pointer(ptr %arg, i64 $dimensions)
  %strides = call ptr @pointer(ptr %arg, i64 $strides)
  %shape.expected = call ptr @pointer(ptr %in, i64 3)
  %strides.asked = call ptr @pointer(ptr %in, i64 4)
  %any.strides = icmp eq ptr %strides.asked, null
  %strides.expected = select i1 %any.strides, ptr %strides, ptr %strides.asked
  %any.shape = icmp eq ptr %shape.expected, null
  br i1 %any.shape, label %array.data, label %array.dims
array.dims:
  br label %dim.head
dim.head:
  %k = phi i64 [ 0, %array.dims ], [ %k.next, %dim.next ]
  %dim.more = icmp ult i64 %k, %dims
  br i1 %dim.more, label %dim.check, label %array.data
dim.check:
  %dim = call i64 @word(ptr %shape, i64 %k)
  %dim.expected = call i64 @word(ptr %shape.expected, i64 %k)
  %dim.same = icmp eq i64 %dim, %dim.expected
  %dim.bounded = icmp slt i64 %dim.expected, 0
  %dim.least = sub i64 0, %dim.expected
  %dim.enough = icmp sge i64 %dim, %dim.least
  %dim.in.bounds = and i1 %dim.bounded, %dim.enough
  %dim.fits = or i1 %dim.same, %dim.in.bounds
  %stride = call i64 @word(ptr %strides, i64 %k)
  %stride.expected = call i64 @word(ptr %strides.expected, i64 %k)
  %stride.same = icmp eq i64 %stride, %stride.expected
  %stride.unused = icmp ule i64 %dim, 1
  %stride.fits = or i1 %stride.same, %stride.unused
  %both.fit = and i1 %dim.fits, %stride.fits
  br i1 %both.fit, label %dim.next, label %dim.other
dim.other:
  %dim.refers = icmp sle i64 %dim.expected, $dim_of_another
  %may.fit = and i1 %dim.refers, %stride.fits
  br i1 %may.fit, label %dim.reference, label %declined
dim.reference:
  %reference = sub i64 $dim_of_another, %dim.expected
  %other.input = lshr i64 %reference, 8
  %other.dim = and i64 %reference, 255
  %other.shape = call ptr @pointer(ptr %dims.of, i64 %other.input)
  %dim.of.other = call i64 @word(ptr %other.shape, i64 %other.dim)
  %dim.equal = icmp eq i64 %dim, %dim.of.other
  br i1 %dim.equal, label %dim.next, label %declined
dim.next:
  %k.next = add i64 %k, 1
  br label %dim.head
array.data:
  %dims.at = getelementptr ptr, ptr %dims.of, i64 %i
  store ptr %shape, ptr %dims.at
  %data = call ptr @pointer(ptr %arg, i64 $data)
  store ptr %data, ptr %slot
  br label %in.next

int:
  %int.value = call i64 @PyLong_AsLongLongAndOverflow(ptr %arg, ptr %overflow)
  store i64 %int.value, ptr %number
  %int.over = load i32, ptr %overflow
  %int.fits = icmp eq i32 %int.over, 0
  %low = call i64 @word(ptr %in, i64 2)
  %high = call i64 @word(ptr %in, i64 3)
  %not.low = icmp sge i64 %int.value, %low
  %not.high = icmp sle i64 %int.value, %high
  %inside = and i1 %not.low, %not.high
  %int.ok = and i1 %int.fits, %inside
  br i1 %int.ok, label %in.next, label %declined
float:
  %float.value = call double @PyFloat_AsDouble(ptr %arg)
  store double %float.value, ptr %number
  br label %in.next
complex:
  %real = call double @PyComplex_RealAsDouble(ptr %arg)
  store double %real, ptr %number
  %imag = call double @PyComplex_ImagAsDouble(ptr %arg)
  %imag.at = getelementptr double, ptr %number, i64 1
  store double %imag, ptr %imag.at
  br label %in.next
scalar:
  call void @PyArray_ScalarAsCtype(ptr %arg, ptr %number)
  br label %in.next
in.next:
  %i.next = add i64 %i, 1
  br label %in.head

sizes.check:
  %sizes = call ptr @pointer(ptr %descriptor, i64 8)
  %has.sizes = icmp ne ptr %sizes, null
  br i1 %has.sizes, label %sizes.compute, label %out.head
sizes.compute:
  %sizes.code = call i64 %sizes(ptr %slots, ptr %shapes)
  %sizes.fit = icmp eq i64 %sizes.code, 0
  br i1 %sizes.fit, label %out.head, label %declined

out.head:
  %j = phi i64 [ 0, %sizes.check ], [ 0, %sizes.compute ], [ %j.next, %out.made ]
  %out.more = icmp ult i64 %j, %outputs
  br i1 %out.more, label %out.kind, label %run
out.kind:
  %out.offset = mul i64 %j, $record
  %out = getelementptr i64, ptr %out.records, i64 %out.offset
  %position = add i64 %inputs, %j
  %out.number = getelementptr [16 x i8], ptr %numbers, i64 %position
  %out.descr = call ptr @pointer(ptr %out, i64 1)
  %out.nd.word = call i64 @word(ptr %out, i64 2)
  %out.nd = trunc i64 %out.nd.word to i32
  %out.shape = call ptr @pointer(ptr %out, i64 3)
  %out.strides = call ptr @pointer(ptr %out, i64 6)
  %out.flags.word = call i64 @word(ptr %out, i64 5)
  %out.flags = trunc i64 %out.flags.word to i32
  %out.kind.word = call i64 @word(ptr %out, i64 0)
  switch i64 %out.kind.word, label %out.made [
    i64 $out_array, label %out.array
    i64 $out_pooled, label %out.pooled
    i64 $out_input, label %out.input
    i64 $out_sized, label %out.sized
  ]
out.array:
  call void @Py_IncRef(ptr %out.descr)
  %array.type = call ptr @pointer(ptr %descriptor, i64 7)
  %plain = call ptr @PyArray_NewFromDescr(ptr %array.type, ptr %out.descr, i32 %out.nd, ptr %out.shape, ptr %out.strides, ptr null, i32 %out.flags, ptr null)
  br label %out.new
out.pooled:
  %pool.function = call ptr @pointer(ptr %descriptor, i64 5)
  %pool = call ptr @pointer(ptr %descriptor, i64 6)
  %out.size = call i64 @word(ptr %out, i64 4)
  %pooled = call ptr %pool.function(ptr %pool, ptr %out.descr, i32 %out.nd, ptr %out.shape, ptr %out.strides, i64 %out.size, i32 %out.flags)
  br label %out.new
out.sized:
  %sized.offset = call i64 @word(ptr %out, i64 3)
  %sized.shape = getelementptr i64, ptr %shapes, i64 %sized.offset
  %itemsize = call i64 @word(ptr %out, i64 4)
  br label %bytes.head
bytes.head:
  %b = phi i64 [ 0, %out.sized ], [ %b.next, %bytes.next ]
  %bytes = phi i64 [ %itemsize, %out.sized ], [ %bytes.product, %bytes.next ]
  %bytes.more = icmp ult i64 %b, %out.nd.word
  br i1 %bytes.more, label %bytes.next, label %bytes.known
bytes.next:
  %bytes.dim = call i64 @word(ptr %sized.shape, i64 %b)
  %bytes.pair = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %bytes, i64 %bytes.dim)
  %bytes.low = extractvalue { i64, i1 } %bytes.pair, 0
  %bytes.over = extractvalue { i64, i1 } %bytes.pair, 1
  %bytes.product = select i1 %bytes.over, i64 -1, i64 %bytes.low
  %b.next = add i64 %b, 1
  br label %bytes.head
bytes.known:
  %sized.pool.function = call ptr @pointer(ptr %descriptor, i64 5)
  %sized.pool = call ptr @pointer(ptr %descriptor, i64 6)
  %sized.over = sub i64 %bytes, $large
  %sized.is.large = icmp ult i64 %sized.over, $large_range
  %sized.has.pool = icmp ne ptr %sized.pool.function, null
  %sized.pools = and i1 %sized.is.large, %sized.has.pool
  br i1 %sized.pools, label %sized.pooled, label %sized.plain
sized.pooled:
  %sized.from.pool = call ptr %sized.pool.function(ptr %sized.pool, ptr %out.descr, i32 %out.nd, ptr %sized.shape, ptr null, i64 %bytes, i32 $carray)
  br label %out.new
sized.plain:
  call void @Py_IncRef(ptr %out.descr)
  %sized.type = call ptr @pointer(ptr %descriptor, i64 7)
  %sized.from.numpy = call ptr @PyArray_NewFromDescr(ptr %sized.type, ptr %out.descr, i32 %out.nd, ptr %sized.shape, ptr null, ptr null, i32 0, ptr null)
  br label %out.new
out.new:
  %new = phi ptr [ %plain, %out.array ], [ %pooled, %out.pooled ], [ %sized.from.pool, %sized.pooled ], [ %sized.from.numpy, %sized.plain ]
  %made = icmp ne ptr %new, null
  br i1 %made, label %out.data, label %out.failed
out.data:
  %new.data = call ptr @pointer(ptr %new, i64 $data)
  br label %out.made
out.input:
  %index = call i64 @word(ptr %out, i64 1)
  %source.data = call ptr @pointer(ptr %slots, i64 %index)
  %source = call ptr @pointer(ptr %args, i64 %index)
  call void @Py_IncRef(ptr %source)
  br label %out.made
out.made:
  %result = phi ptr [ %new, %out.data ], [ %source, %out.input ], [ null, %out.kind ]
  %result.data = phi ptr [ %new.data, %out.data ], [ %source.data, %out.input ], [ %out.number, %out.kind ]
  %result.at = getelementptr ptr, ptr %results, i64 %j
  store ptr %result, ptr %result.at
  %out.slot = getelementptr ptr, ptr %slots, i64 %position
  store ptr %result.data, ptr %out.slot
  %j.next = add i64 %j, 1
  br label %out.head
out.failed:
  call void @PyErr_Clear()
  call void @release(ptr %results, i64 %j)
  ret ptr $refused

run:
  %kernel = call ptr @pointer(ptr %descriptor, i64 0)
  %lets.go = call i64 @word(ptr %descriptor, i64 1)
  %holds = icmp eq i64 %lets.go, 0
  br i1 %holds, label %run.holding, label %run.without
run.holding:
  %code.holding = call i64 %kernel(ptr %slots)
  br label %ran
run.without:
  %thread = call ptr @PyEval_SaveThread()
  %code.without = call i64 %kernel(ptr %slots)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %ran
ran:
  %code = phi i64 [ %code.holding, %run.holding ], [ %code.without, %run.without ]
  %succeeded = icmp eq i64 %code, 0
  br i1 %succeeded, label %wrap.head, label %unsuccessful
unsuccessful:
  call void @release(ptr %results, i64 %outputs)
  switch i64 %code, label %refused [
    i64 $failed, label %record
    i64 $interrupted, label %interrupted
  ]
refused:
  ret ptr $refused
interrupted:
  ret ptr null
record:
  %all.args = add i64 %inputs, 1
  %passed = alloca ptr, i64 %all.args, align 16
  %arg.bytes = mul i64 %inputs, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %passed, ptr %args, i64 %arg.bytes, i1 false)
  %record.word = ptrtoint ptr %slots to i64
  %record.int = call ptr @PyLong_FromLongLong(i64 %record.word)
  %record.made = icmp ne ptr %record.int, null
  br i1 %record.made, label %record.pass, label %interrupted
record.pass:
  %record.at = getelementptr ptr, ptr %passed, i64 %inputs
  store ptr %record.int, ptr %record.at
  %raising = call ptr @pointer(ptr %state, i64 1)
  %raised = call ptr @PyObject_Vectorcall(ptr %raising, ptr %passed, i64 %all.args, ptr null)
  call void @Py_DecRef(ptr %record.int)
  ret ptr %raised

wrap.head:
  %w = phi i64 [ 0, %ran ], [ %w.next, %wrap.next ]
  %wrap.more = icmp ult i64 %w, %outputs
  br i1 %wrap.more, label %wrap.check, label %pack
wrap.check:
  %wrap.at = getelementptr ptr, ptr %results, i64 %w
  %wrap.had = load ptr, ptr %wrap.at
  %wrap.done = icmp ne ptr %wrap.had, null
  br i1 %wrap.done, label %wrap.next, label %wrap.kind
wrap.kind:
  %wrap.offset = mul i64 %w, $record
  %wrap.record = getelementptr i64, ptr %out.records, i64 %wrap.offset
  %wrap.position = add i64 %inputs, %w
  %value = getelementptr [16 x i8], ptr %numbers, i64 %wrap.position
  %wrap.kind.word = call i64 @word(ptr %wrap.record, i64 0)
  switch i64 %wrap.kind.word, label %wrap.scalar [
    i64 $out_int, label %wrap.int
    i64 $out_bool, label %wrap.bool
    i64 $out_float, label %wrap.float
    i64 $out_complex, label %wrap.complex
  ]
wrap.scalar:
  %wrap.descr = call ptr @pointer(ptr %wrap.record, i64 1)
  %new.scalar = call ptr @PyArray_Scalar(ptr %value, ptr %wrap.descr, ptr null)
  br label %wrap.store
wrap.int:
  %int.result = load i64, ptr %value
  %new.int = call ptr @PyLong_FromLongLong(i64 %int.result)
  br label %wrap.store
wrap.bool:
  %bool.result = load i64, ptr %value
  %new.bool = call ptr @PyBool_FromLong(i64 %bool.result)
  br label %wrap.store
wrap.float:
  %float.result = load double, ptr %value
  %new.float = call ptr @PyFloat_FromDouble(double %float.result)
  br label %wrap.store
wrap.complex:
  %real.result = load double, ptr %value
  %imag.result.at = getelementptr double, ptr %value, i64 1
  %imag.result = load double, ptr %imag.result.at
  %new.complex = call ptr @PyComplex_FromDoubles(double %real.result, double %imag.result)
  br label %wrap.store
wrap.store:
  %wrapped = phi ptr [ %new.scalar, %wrap.scalar ], [ %new.int, %wrap.int ], [ %new.bool, %wrap.bool ], [ %new.float, %wrap.float ], [ %new.complex, %wrap.complex ]
  store ptr %wrapped, ptr %wrap.at
  %wrap.made = icmp ne ptr %wrapped, null
  br i1 %wrap.made, label %wrap.next, label %failed
wrap.next:
  %w.next = add i64 %w, 1
  br label %wrap.head

pack:
  %single = call i64 @word(ptr %descriptor, i64 4)
  %alone = icmp ne i64 %single, 0
  br i1 %alone, label %pack.single, label %pack.tuple
pack.single:
  %only = load ptr, ptr %results
  ret ptr %only
pack.tuple:
  %tuple = call ptr @PyTuple_New(i64 %outputs)
  %packed = icmp ne ptr %tuple, null
  br i1 %packed, label %pack.head, label %failed
pack.head:
  %t = phi i64 [ 0, %pack.tuple ], [ %t.next, %pack.item ]
  %pack.more = icmp ult i64 %t, %outputs
  br i1 %pack.more, label %pack.item, label %pack.done
pack.item:
  %item = call ptr @pointer(ptr %results, i64 %t)
  %ignored = call i32 @PyTuple_SetItem(ptr %tuple, i64 %t, ptr %item)
  %t.next = add i64 %t, 1
  br label %pack.head
pack.done:
  ret ptr %tuple

failed:
  call void @release(ptr %results, i64 %outputs)
  ret ptr null
declined:
  ret ptr $declined
}

define internal void @release(ptr %results, i64 %n) nounwind uwtable {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %check, label %done
check:
  %x = call ptr @pointer(ptr %results, i64 %i)
  %owned = icmp ne ptr %x, null
  br i1 %owned, label %drop, label %next
drop:
  call void @Py_DecRef(ptr %x)
  br label %next
next:
  %i.next = add i64 %i, 1
  br label %head
done:
  ret void
}

; A call of a function that runs eagerly. Self is a tuple of the function, of what runs calls that are timed as well, and of an array of
; three integers: after how many calls the next one is timed, one of how many is, and how many calls there were.
define ptr @tnp_call_eagerly(ptr %self, ptr %arguments, i64 %n, ptr %names) nounwind uwtable {
entry:
  %function = call ptr @pointer(ptr %self, i64 3)
  %timed = call ptr @pointer(ptr %self, i64 4)
  %array = call ptr @pointer(ptr %self, i64 5)
  %counts = call ptr @pointer(ptr %array, i64 $data)
  %left = load i64, ptr %counts
  %every.at = getelementptr i64, ptr %counts, i64 1
  %every = load i64, ptr %every.at
  %calls.at = getelementptr i64, ptr %counts, i64 2
  %calls = load i64, ptr %calls.at
  %calls.next = add i64 %calls, 1
  store i64 %calls.next, ptr %calls.at
  %is.timed = icmp sle i64 %left, 0
  %before = select i1 %is.timed, i64 %every, i64 %left
  %left.next = sub i64 %before, 1
  store i64 %left.next, ptr %counts
  %called = select i1 %is.timed, ptr %timed, ptr %function
  call void @Py_IncRef(ptr %self)
  %result = call ptr @PyObject_Vectorcall(ptr %called, ptr %arguments, i64 %n, ptr %names)
  call void @Py_DecRef(ptr %self)
  ret ptr %result
}

; For loops that take long: whether a signal's handler has raised. Handlers run in the main thread, which takes the interpreter for that at most
; once in $poll_ms ms: another thread may have it.
@main = internal global i64 0
@polled = internal global i64 0
declare i64 @pthread_self()
declare i32 @clock_gettime(i32, ptr)

define void @tnp_main_thread(i64 %thread) nounwind {
  store atomic i64 %thread, ptr @main monotonic, align 8
  ret void
}

define i1 @tnp_poll() nounwind uwtable {
entry:
  %now = alloca [2 x i64]
  %me = call i64 @pthread_self()
  %main = load atomic i64, ptr @main monotonic, align 8
  %is.main = icmp eq i64 %me, %main
  br i1 %is.main, label %when, label %no
when:
  %told = call i32 @clock_gettime(i32 $poll_clock, ptr %now)
  %seconds = load i64, ptr %now
  %nanoseconds.at = getelementptr i64, ptr %now, i64 1
  %nanoseconds = load i64, ptr %nanoseconds.at
  %whole = mul i64 %seconds, 1000
  %part = udiv i64 %nanoseconds, 1000000
  %ms = add i64 %whole, %part
  %before = load i64, ptr @polled
  %since = sub i64 %ms, %before
  %early = icmp ult i64 %since, $poll_ms
  br i1 %early, label %no, label %ask
no:
  ret i1 false
ask:
  store i64 %ms, ptr @polled
  %held = call i32 @PyGILState_Ensure()
  %found = call i32 @PyErr_CheckSignals()
  call void @PyGILState_Release(i32 %held)
  %raised = icmp ne i32 %found, 0
  ret i1 %raised
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
