// Every script starts with this. goja stops a script between two of its instructions, and it has no meter of memory that would
// stop it inside one. So whatever a single call of a built-in function could make unboundedly long or large is bounded here,
// or taken away. The wrappers are JavaScript on purpose: to call one is to pass an instruction.
(function (native) {
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

  // lengthOf is the length that a built-in function will see. A getter could tell another one the next time.
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

  // few makes an array of what is spread into arguments.
  function few(v) {
    if (isArray(v) && v.length > native.maxSpread) tooLong();
    var out = [];
    for (var e of v) if (out.push(e) > native.maxSpread) tooLong();
    return out;
  }

  // fitsArguments bounds the arguments of a call of a function.
  function fitsArguments(v) { if (lengthOf(v) > native.maxSpread) tooLong(); }

  // hard bounds a text that much is done with for each of its characters.
  function hard(v) { if (typeof v === 'string' && v.length > MaxHard) tooLarge(); }

  // search bounds the search of a text in another: that may compare each place of the one with all of the other.
  function search(subject, part) {
    if (subject.length * ('' + part).length > native.maxWork) tooLarge();
  }

  // What the compiler puts around some expressions.
  define(global, native.bounded, { value: native.bound });
  define(global, native.few, { value: few });
  define(global, native.fits, { value: function (v) { fits(v); return v; } });

  // wrap runs check, with the this and the arguments of the call, before a built-in function.
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

  // A comparison of two long texts takes long, so each is an instruction.
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

  // A structure of shared arrays is small and flat without end, so the depth is walked here.
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

  // Text.

  var text = String.prototype;
  wrap(text, 'repeat', function (self, args) { if (lengthOf('' + self) * args[0] > MaxText) tooLarge(); });
  wrapAll(text, ['padStart', 'padEnd'], function (self, args) { if (args[0] > MaxText) tooLarge(); });
  wrap(text, 'split', function (self, args) {
    fits('' + self);
    if (typeof args[0] === 'string') search('' + self, args[0]);
  });
  wrapAll(text, ['indexOf', 'lastIndexOf', 'includes'], function (self, args) { search('' + self, args[0]); });
  wrapAll(text, ['normalize', 'localeCompare'], function (self, args) {
    hard('' + self);
    hard(args[0]);
  });
  wrapAll(text, ['match', 'matchAll', 'search'], function (self, args) {
    fits('' + self);
    if (!(args[0] instanceof RegExp)) simple('' + args[0]);
  });
  wrapAll(global, ['encodeURI', 'encodeURIComponent', 'decodeURI', 'decodeURIComponent', 'escape', 'unescape', 'parseInt', 'parseFloat'],
    function (self, args) { fits('' + args[0]); });
  wrap(text, Symbol.iterator, function (self) { fits('' + self); });
  wrap(text, 'concat', function (self, args) {
    var size = ('' + self).length;
    for (var i = 0; i < args.length; i++) {
      args[i] = '' + args[i];
      size += args[i].length;
      if (size > MaxText) tooLarge();
    }
  });
  wrap(text, 'replace', function (self, args) {
    if (typeof args[1] === 'function') args[1] = counted(args[1]);
    if (typeof args[0] === 'string') search('' + self, args[0]);
    bound('' + self, args[1], args[0] instanceof RegExp && args[0].flags.indexOf('g') >= 0, args[0]);
  });
  wrap(text, 'replaceAll', function (self, args) {
    if (typeof args[1] === 'function') args[1] = counted(args[1]);
    if (typeof args[0] === 'string') search('' + self, args[0]);
    bound('' + self, args[1], true, args[0]);
  });

  // counted makes a function that gives replacements one that gives no more of them than there is room for.
  function counted(f) {
    var size = 0;
    return function () {
      var by = '' + apply(f, undefined, arguments);
      size += by.length;
      if (size > MaxText) tooLarge();
      return by;
    };
  }
  put(String, 'raw', function (strings) {
    var out = '', raw = strings.raw;
    fits(raw);
    for (var i = 0; i < raw.length; i++) {
      out += raw[i] + (i + 1 < raw.length && i + 1 < arguments.length ? arguments[i + 1] : '');
      if (out.length > MaxText) tooLarge();
    }
    return out;
  });

  var indexOf = text.indexOf;

  // bound refuses a replacement that could grow beyond the limit: by what is put in for each match, or by what of the text
  // itself is put in.
  function bound(subject, replacement, all, pattern) {
    if (typeof replacement === 'function') return;
    var by = '' + replacement, matches = all ? subject.length + 1 : 1, parts = 0, contexts = 0;
    var around = pattern instanceof RegExp && backtracks(pattern);
    for (var at = by.indexOf('$'); at >= 0; at = by.indexOf('$', at + 2)) {
      if (around || by[at + 1] === '`' || by[at + 1] === "'") contexts++;
      else parts++;
    }
    if (matches * by.length + subject.length * (parts + contexts * matches) > MaxText) tooLarge();
  }

  // Two engines match regular expressions. One takes time in proportion to the text and to the pattern, but knows no lookaround,
  // no back references and none of some rare things, and can only begin at the beginning. The other tries, which may take time
  // without end, and gives up after a while.
  //
  // So a pattern without those is always matched by the first: where a search goes on in the middle of a text, it is for any
  // character followed by the pattern, from the character before. The others have their time.

  var NativeRegExp = RegExp, NativeExec = RegExp.prototype.exec, source = describe(RegExp.prototype, 'source').get;

  function has(s, part) { return apply(indexOf, s, [part]) >= 0; }

  function backtracks(pattern) {
    var s = apply(source, pattern, []);
    if (has(s, '(?=') || has(s, '(?!') || has(s, '(?<=') || has(s, '(?<!') || has(s, '\\k')) return true;
    if (apply(NativeExec, /\{\d*,?\d{4}/, [s]) !== null) return true; // repeated too often for the first engine
    var inClass = false;
    for (var i = 0; i + 1 < s.length; i++) {
      if (s[i] === '[') inClass = true;
      else if (s[i] === ']') inClass = false;
      if (s[i] !== '\\') continue;
      var c = s[++i];
      if (c >= '1' && c <= '9' || c === '0' && s[i + 1] >= '0' && s[i + 1] <= '9' || c === 'S' && inClass) return true;
    }
    return apply(NativeExec, /\(\?<[^>]*[^A-Za-z0-9_>]/, [s]) !== null;
  }

  function tooCostly() { throw new RangeError('The regular expression is too costly for a text of this length'); }

  // weight is how many states the first engine has for a pattern, by a rough estimate: it repeats what is in front of {n,m}, and
  // takes no pattern that has more than 1,000 of anything.
  function weight(s) {
    var times = 1, m;
    if (has(s, '{')) {
      for (var i = 0; i < s.length; i++) {
        if (s[i] !== '{') continue;
        m = apply(NativeExec, /^\{(\d{1,4})(?:,(\d{0,4}))?\}/, [apply(slice, s, [i, i + 12])]);
        if (m !== null) times *= +(m[2] || m[1]) || 1;
        if (times > 1000) return s.length * 1000;
      }
    }
    return s.length * times;
  }

  function affordable(pattern, subject) {
    var s = '' + subject;
    fits(s);
    if (!(pattern instanceof NativeRegExp) || s.length < 100) return;
    var w = apply(get, weights, [pattern]);
    if (w === undefined) apply(set, weights, [pattern, w = weight(apply(source, pattern, []))]);
    if (s.length * w > native.maxWork) tooCostly();
  }

  // simple bounds the text of a pattern: what compiles it calls itself for what is nested in it.
  function simple(s) {
    if (s.length > native.maxPattern) throw new SyntaxError('Invalid regular expression: it is too long');
  }

  // tried matches by trying.
  function tried(re, s) {
    var flags = apply(flagsOf, re, []), sticky = has(flags, 'y'), goesOn = sticky || has(flags, 'g');
    var from = goesOn ? floor(+re.lastIndex) || 0 : 0, m = null;
    if (from >= 0 && from <= s.length) m = native.match(apply(source, re, []), flags, s, from);
    if (m !== null && sticky && m.index !== from) m = null;
    if (goesOn) re.lastIndex = m === null ? 0 : m.index + m[0].length;
    return m;
  }

  var pattern = RegExp.prototype, flagsOf = describe(pattern, 'flags').get, inMiddle = new WeakMap(), atStart = new WeakMap(), weights = new WeakMap();
  var get = WeakMap.prototype.get, set = WeakMap.prototype.set, slice = text.slice, charCodeAt = text.charCodeAt;

  // without returns a pattern that begins at the beginning: itself, or any character and itself.
  function without(re, flags, cache, before) {
    var made = apply(get, cache, [re]);
    if (made === undefined) {
      var bare = '';
      for (var i = 0; i < flags.length; i++) if (flags[i] !== 'g' && flags[i] !== 'y') bare += flags[i];
      made = new NativeRegExp(before + apply(source, re, []) + (before && ')'), bare);
      apply(set, cache, [re, made]);
    }
    return made;
  }

  put(pattern, 'exec', function (subject) {
    var s = '' + subject;
    affordable(this, s);
    if (backtracks(this)) return tried(this, s);
    var flags = apply(flagsOf, this, []), sticky = has(flags, 'y');
    if (!sticky && !has(flags, 'g')) return apply(NativeExec, this, [s]);
    var from = floor(+this.lastIndex) || 0, m = null;
    if (from <= 0) m = apply(NativeExec, without(this, flags, atStart, ''), [s]);
    else if (from <= s.length) m = apply(NativeExec, without(this, flags, inMiddle, '(?:.|[\\n\\r\\u2028\\u2029])(?:'), [apply(slice, s, [from - 1])]);
    if (m === null || sticky && m.index !== 0) {
      this.lastIndex = 0;
      return null;
    }
    if (from > 0) {
      var first = apply(charCodeAt, m[0], [0]), units = has(flags, 'u') && m[0].length > 1 && first >= 0xD800 && first < 0xDC00 ? 2 : 1;
      m[0] = apply(slice, m[0], [units]);
      m.index += from - 1 + units;
    }
    m.input = s;
    this.lastIndex = m.index + m[0].length;
    return m;
  });

  put(pattern, Symbol.split, function (subject, limit) {
    var s = '' + subject, max = limit === undefined ? MaxElements : limit >>> 0, out = [], last = 0, m;
    fits(s);
    if (max === 0) return out;
    var flags = apply(flagsOf, this, []);
    var re = new NativeRegExp(apply(source, this, []), has(flags, 'g') ? flags : flags + 'g');
    if (s.length === 0) return re.exec(s) === null ? [s] : out;
    while ((m = re.exec(s)) !== null && m.index < s.length) {
      if (m.index + m[0].length === last) {
        re.lastIndex = m.index + 1;
        continue;
      }
      for (var i = 0; i < m.length; i++) {
        out.push(i === 0 ? apply(slice, s, [last, m.index]) : m[i]);
        if (out.length === max) return out;
      }
      last = re.lastIndex = m.index + m[0].length;
      if (m[0] === '') re.lastIndex++;
    }
    out.push(apply(slice, s, [last]));
    return out;
  });
  function LimitedRegExp(first, flags) {
    if (!new.target && first instanceof NativeRegExp && flags === undefined) return first;
    if (!(first instanceof NativeRegExp) && first !== undefined) simple(first = '' + first);
    return construct(NativeRegExp, flags === undefined ? [first] : [first, flags], new.target || LimitedRegExp);
  }
  LimitedRegExp.prototype = pattern;
  define(LimitedRegExp, 'name', { value: 'RegExp' });
  define(LimitedRegExp, Symbol.species, { get: function () { return this; }, configurable: true });
  put(pattern, 'constructor', LimitedRegExp);
  put(global, 'RegExp', LimitedRegExp);
  delete pattern.compile;
  put(pattern, 'test', function (subject) { return this.exec(subject) !== null; });
  wrapAll(pattern, [Symbol.match, Symbol.matchAll, Symbol.replace, Symbol.search], function (self, args) { fits('' + args[0]); });

  // JSON.

  put(JSON, 'stringify', function stringify(value, replacer, space) {
    var only, f = typeof replacer === 'function' ? replacer : undefined;
    if (isArray(replacer)) {
      fits(replacer);
      only = [];
      for (var i = 0; i < replacer.length; i++) {
        var name = '' + replacer[i];
        if (only.indexOf(name) < 0) only.push(name);
      }
    }
    if (space instanceof Number) space = +space;
    if (space instanceof String) space = '' + space;
    var indent = '';
    if (typeof space === 'number') while (indent.length < space && indent.length < 10) indent += ' ';
    else if (typeof space === 'string') indent = space.slice(0, 10);
    return native.stringify(value, f, only, indent);
  });

  put(JSON, 'parse', function parse(json, reviver) {
    var value = native.parse('' + json);
    if (typeof reviver !== 'function') return value;
    return (function revive(holder, key) {
      var v = holder[key];
      if (v !== null && typeof v === 'object') {
        var names = keysOf(v);
        for (var i = 0; i < names.length; i++) {
          var e = revive(v, names[i]);
          if (e === undefined) delete v[names[i]];
          else define(v, names[i], { value: e, writable: true, enumerable: true, configurable: true });
        }
      }
      return apply(reviver, holder, [key, v]);
    })({ '': value }, '');
  });

  // Errors take a number before their text: new Error(404, 'no such order').

  var NativeError = Error;
  function NumberedError(first, second) {
    var numbered = arguments.length > 1 && typeof first === 'number';
    var e = construct(NativeError, numbered ? [second] : arguments, new.target || NumberedError);
    if (numbered) put(e, 'number', first);
    return e;
  }
  NumberedError.prototype = NativeError.prototype;
  define(NumberedError, 'name', { value: 'Error' });
  put(NativeError.prototype, 'constructor', NumberedError);
  put(global, 'Error', NumberedError);

  // Dates have no time zone but UTC, wherever the server stands.

  var NativeDate = Date, date = Date.prototype, zone = date.getTimezoneOffset, utc = Date.UTC, parseDate = Date.parse;
  function parseUTC(s) {
    var t = parseDate(s);
    if (t !== t || /(Z|GMT|UTC|[+-]\d\d:?\d\d)(\s*\(.*\))?\s*$/i.test(s) || /^\s*[+-]?\d+(-\d\d(-\d\d)?)?\s*$/.test(s)) return t;
    return t - apply(zone, new NativeDate(t), []) * 60000;
  }
  function UTCDate(first) {
    if (!new.target) return new NativeDate().toUTCString();
    var args = arguments;
    if (args.length === 1 && typeof first === 'string') args = [parseUTC(first)];
    if (args.length > 1) args = [apply(utc, undefined, args)];
    return construct(NativeDate, args, new.target);
  }
  UTCDate.prototype = date;
  define(UTCDate, 'name', { value: 'Date' });
  put(date, 'constructor', UTCDate);
  put(UTCDate, 'now', NativeDate.now);
  put(UTCDate, 'UTC', utc);
  put(UTCDate, 'parse', function (s) { return parseUTC('' + s); });
  ['Date', 'Day', 'FullYear', 'Hours', 'Milliseconds', 'Minutes', 'Month', 'Seconds'].forEach(function (part) {
    put(date, 'get' + part, date['getUTC' + part]);
    if (part !== 'Day') put(date, 'set' + part, date['setUTC' + part]);
  });
  put(date, 'getTimezoneOffset', function () { return 0; });
  put(date, 'toString', date.toUTCString);
  put(date, 'toLocaleString', date.toUTCString);
  put(global, 'Date', UTCDate);

  // What makes code of text, and what allocates or calculates without bound.

  function forbidden(name) {
    return function () { throw new TypeError(name + ' is not allowed in server side scripting.'); };
  }
  put(global, 'eval', forbidden('eval'));
  [function () {}, function* () {}, async function () {}].forEach(function (f) {
    var proto = prototypeOf(f), gate = forbidden('Making functions of text');
    gate.prototype = proto;
    define(proto, 'constructor', { value: gate, writable: false, enumerable: false, configurable: false });
  });
  put(global, 'Function', Function.prototype.constructor);
  ['Proxy', 'BigInt', 'ArrayBuffer', 'SharedArrayBuffer', 'Atomics', 'DataView', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray',
    'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array',
    'WeakRef', 'FinalizationRegistry'].forEach(function (name) { delete global[name]; });
})
