// Strings: limits for the results of built-in functions, and for the comparisons that they make.

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

// counted returns a replacement function that calls f, and fails when the replacements together are too long.
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

// bound fails if the result of a replacement could be too long: because of the text inserted for each match, or of the parts of
// the subject that it inserts.
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
