// Regular expressions.
//
// Two engines match regular expressions. The first, of goja, takes time in proportion to the text and to the pattern. It has no
// lookaround, no back references and none of some rare constructs, and a match can only begin at the beginning of the text. The
// second backtracks, which can take exponential time, so it gives up after a time limit.
//
// A pattern without these constructs is always matched by the first engine. To continue a search in the middle of a text, the
// sandbox searches from the previous character for any character followed by the pattern.

var NativeRegExp = RegExp, NativeExec = RegExp.prototype.exec, source = describe(RegExp.prototype, 'source').get;

function has(s, part) { return apply(indexOf, s, [part]) >= 0; }

function backtracks(pattern) {
  var s = apply(source, pattern, []);
  if (has(s, '(?=') || has(s, '(?!') || has(s, '(?<=') || has(s, '(?<!') || has(s, '\\k')) return true;
  if (apply(NativeExec, /\{\d*,?\d{4}/, [s]) !== null) return true; // the first engine allows at most 1,000 repetitions
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

// weight returns a rough estimate of the number of states that the first engine has for a pattern. The engine repeats the states
// of an operand of {n,m}, at most 1,000 times.
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

// simple fails if a pattern is too long: its compiler is recursive for nested groups.
function simple(s) {
  if (s.length > native.maxPattern) throw new SyntaxError('Invalid regular expression: it is too long');
}

// tried matches by the engine that backtracks.
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

// without returns re without the flags g and y, after the prefix before: empty, or any character and a group.
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
