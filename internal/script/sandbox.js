// This file and the other sandbox files run before each script, as the statements of one function. goja can interrupt a script
// only between two instructions, and it does not limit memory. A single call of a built-in function could therefore run, or
// allocate, without limit. The sandbox limits such functions or removes them. The wrappers are written in JavaScript, because
// each call of one is an instruction, at which goja can interrupt the script.
var global = this, MaxElements = native.maxElements, MaxText = native.maxText, MaxHard = native.maxHard;
var apply = Reflect.apply, construct = Reflect.construct, isArray = Array.isArray;
var describe = Object.getOwnPropertyDescriptor, prototypeOf = Object.getPrototypeOf;
var own = Object.getOwnPropertyNames, keysOf = Object.keys, define = Object.defineProperty;
var ceil = Math.ceil, floor = Math.floor, pow = Math.pow;

function put(o, name, f) {
  define(o, name, { value: f, writable: true, enumerable: false, configurable: true });
}

function tooLong() { throw new RangeError('Invalid array length'); }
function tooLarge() { throw new RangeError('Invalid string length'); }

// lengthOf returns the length that a built-in function will use. It refuses a getter, which could return another length later.
function lengthOf(v) {
  if (typeof v === 'string' || isArray(v)) return v.length;
  if (v === null || typeof v !== 'object' && typeof v !== 'function') return 0;
  for (var o = v; o !== null; o = prototypeOf(o)) {
    var d = describe(o, 'length');
    if (d === undefined) continue;
    if (typeof d.value !== 'number') throw new TypeError('The length of an array-like object must be a plain number');
    return d.value;
  }
  return 0;
}

function fits(v) { if (lengthOf(v) > MaxElements) tooLong(); }

// few returns an array of the values that a spread (...v) passes as arguments. It fails if there are too many.
function few(v) {
  if (isArray(v) && v.length > native.maxSpread) tooLong();
  var out = [];
  for (var e of v) if (out.push(e) > native.maxSpread) tooLong();
  return out;
}

// fitsArguments fails if an array has too many elements for the arguments of a call.
function fitsArguments(v) { if (lengthOf(v) > native.maxSpread) tooLong(); }

// hard fails if a string is too long for a function that does much work for each character.
function hard(v) { if (typeof v === 'string' && v.length > MaxHard) tooLarge(); }

// search fails if the search of part in subject could take too long: it may compare part at each position of subject.
function search(subject, part) {
  if (subject.length * ('' + part).length > native.maxWork) tooLarge();
}

// The functions that the compiler of scripts inserts around some expressions.
define(global, native.bounded, { value: native.bound });
define(global, native.few, { value: few });
define(global, native.fits, { value: function (v) { fits(v); return v; } });

// wrap replaces a built-in function of o by one that first calls check with the receiver and the arguments.
function wrap(o, name, check) {
  var f = o[name];
  if (typeof f !== 'function') return;
  put(o, name, function () {
    check(this, arguments);
    return apply(f, this, arguments);
  });
}

function wrapAll(o, names, check) {
  for (var i = 0; i < names.length; i++) wrap(o, names[i], check);
}

var ofThis = function (self) { fits(self); };
var ofFirst = function (self, args) { fits(args[0]); };

// Arrays.

var array = Array.prototype;
var join = array.join, concat = array.concat;
own(array).forEach(function (name) {
  if (name !== 'constructor' && name !== 'toString' && name !== 'push' && name !== 'pop') wrap(array, name, ofThis);
});
put(array, Symbol.iterator, array.values);

// The comparison of two long strings takes long, so the default order of sort is a function: each call is an instruction.
var sort = array.sort;
function order(a, b) {
  a = '' + a;
  b = '' + b;
  return a < b ? -1 : a > b ? 1 : 0;
}
put(array, 'sort', function (compare) { return apply(sort, this, [compare === undefined ? order : compare]); });
if (array.toSorted) {
  var toSorted = array.toSorted;
  put(array, 'toSorted', function (compare) { return apply(toSorted, this, [compare === undefined ? order : compare]); });
}
['indexOf', 'lastIndexOf', 'includes'].forEach(function (name) {
  var f = array[name];
  put(array, name, function (what) {
    if (typeof what !== 'string' || what.length < 1000) return apply(f, this, arguments);
    var at = [this.length];
    for (var i = 0; i < this.length; i++) at[i] = i in this && this[i] === what;
    at.length = this.length;
    arguments[0] = true;
    return apply(f, at, arguments);
  });
});
put(array, 'toLocaleString', function () { return this.join(); });
wrap(Array, 'from', ofFirst);

put(array, 'join', function (separator) {
  fits(this);
  var glue = separator === undefined ? ',' : '' + separator, n = lengthOf(this), size = glue.length * n;
  for (var i = 0; i < n; i++) {
    var e = this[i];
    if (typeof e === 'string') size += e.length;
    if (size > MaxText) tooLarge();
  }
  return apply(join, this, [glue]);
});

put(array, 'concat', function () {
  var total = lengthOf(this);
  for (var i = 0; i < arguments.length; i++) {
    var a = arguments[i];
    if (isArray(a) || a !== null && typeof a === 'object' && a[Symbol.isConcatSpreadable]) total += lengthOf(a);
    if (total > MaxElements) tooLong();
  }
  return apply(concat, this, arguments);
});

// Arrays that contain the same array several times are small, but their flat form can be huge, so flat counts its elements.
put(array, 'flat', function (depth) {
  var out = [];
  (function walk(list, depth) {
    fits(list);
    for (var i = 0; i < list.length; i++) {
      if (!(i in list)) continue;
      if (depth > 0 && isArray(list[i])) walk(list[i], depth - 1);
      else if (out.push(list[i]) > MaxElements) tooLong();
    }
  })(this, depth === undefined ? 1 : +depth || 0);
  return out;
});

// Functions and objects.

put(Function.prototype, 'apply', function (self, args) {
  if (args === null || args === undefined) return apply(this, self, []);
  fitsArguments(args);
  return apply(this, self, args);
});
wrap(Reflect, 'apply', function (self, args) { fitsArguments(args[2]); });
wrap(Reflect, 'construct', function (self, args) { fitsArguments(args[1]); });
wrapAll(Object, ['keys', 'values', 'entries', 'getOwnPropertyNames', 'getOwnPropertyDescriptors', 'assign', 'freeze', 'seal'],
  function (self, args) {
    for (var i = 0; i < args.length; i++) if (typeof args[i] === 'string' || isArray(args[i])) fits(args[i]);
  });
