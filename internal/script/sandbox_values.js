// JSON, errors and dates, which follow rules of stored procedures, and the globals that scripts do not have.

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

// Errors accept a number before the message: new Error(404, 'no such order').

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

// The time zone of dates is always UTC.

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

// Functions that compile text, and types that allocate or compute without limit, are removed.

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
