// The objects that stored procedures and triggers see: getContext() and __. kind is "procedure", "pre" or "post".
(function (native, kind) {
  var codes = Object.freeze({
    BadRequest: 400, Forbidden: 403, NotFound: 404, Conflict: 409, PreconditionFailed: 412, RequestEntityTooLarge: 413,
    RetryWith: 449, InternalServerError: 500
  });

  function bad(text) { throw new Error(codes.BadRequest, text); }
  function refuse(text) { throw new Error(codes.Forbidden, text); }

  // need refuses a call with too few arguments.
  function need(name, args, n) {
    if (args.length < n) bad('The function "' + name + '" requires at least ' + n + ' argument(s) but was called with ' + args.length + ' argument(s).');
  }

  // rest sorts out the trailing arguments of an operation, [options], [callback].
  function rest(options, callback) {
    if (typeof options === 'function' && callback === undefined) {
      callback = options;
      options = undefined;
    }
    if (options === undefined || options === null) options = {};
    if (typeof options !== 'object') bad('The "options" parameter must be of type "object". Actual type is: "' + typeof options + '".');
    if (callback === null) callback = undefined;
    if (callback !== undefined && typeof callback !== 'function') {
      bad('The "callback" parameter must be of type "function". Actual type is: "' + typeof callback + '".');
    }
    checkOptions(options);
    return { options: options, callback: callback };
  }

  // What the options of an operation may hold; undefined and null stand for options that are not given.
  var known = {
    pageSize: function (v) { return typeof v === 'number' && v >= -1 && v % 1 === 0; },
    continuation: isText,
    etag: isText,
    ifNoneMatch: isText,
    indexAction: function (v) { return typeof v === 'string' && /^(default|include|exclude)$/i.test(v); },
    disableAutomaticIdGeneration: function (v) { return typeof v === 'boolean'; }
  };

  function isText(v) { return typeof v === 'string'; }

  function checkOptions(options) {
    Object.keys(known).forEach(function (name) {
      var v = options[name];
      if (v !== undefined && v !== null && !known[name](v)) bad('The option "' + name + '" has an invalid value: ' + show(v) + '.');
    });
  }

  var selfLink = native.selfLink, altLink = native.altLink;

  function inCollection(link) {
    var bare = typeof link === 'string' ? link.replace(/\/$/, '') : '';
    if (!/^dbs\/[^\/]+\/colls\/[^\/]+$/i.test(bare)) bad('Invalid collection link: "' + link + '".');
    if (bare + '/' !== selfLink && bare !== altLink) notHere(link);
  }

  function notHere(link) {
    bad('Function is not allowed to operate on resources outside current collection. Make sure that the link provided, "' +
      link + '", belongs to current collection.');
  }

  // documentAt reads the link of a document: {rid} or {id}.
  function documentAt(link) {
    var parts = typeof link === 'string' ? link.replace(/\/$/, '').split('/') : [];
    if (parts.length !== 6 || parts[0].toLowerCase() !== 'dbs' || parts[2].toLowerCase() !== 'colls' || parts[4].toLowerCase() !== 'docs' || parts[5] === '') {
      bad('Invalid document link: "' + link + '".');
    }
    var owner = parts.slice(0, 4).join('/');
    if (owner + '/' === selfLink) return { rid: parts[5] };
    if (owner === altLink) return { id: parts[5] };
    notHere(link);
  }

  function guid() {
    return 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'.replace(/x/g, function () { return Math.floor(Math.random() * 16).toString(16); });
  }

  // textOf is the JSON of a document to be written, with an id where it has none and may be given one.
  function textOf(body, options) {
    if (body === null || typeof body !== 'object' && typeof body !== 'string') {
      bad('The document body must be an object or a string representing a JSON-serialized object.');
    }
    if (options === undefined || options.disableAutomaticIdGeneration === true) {
      return typeof body === 'string' ? body : JSON.stringify(body);
    }
    var object = typeof body === 'string' ? JSON.parse(body) : body;
    if (object !== null && typeof object === 'object' && !object.id) {
      object = Object.assign({}, object);
      object.id = guid();
    }
    return JSON.stringify(object);
  }

  // start queues an operation. An error that has no callback ends the script.
  function start(operation, callback) {
    return native.start(operation, callback === undefined ? function (err) { if (err) throw err; } : callback);
  }

  function feed(operation, link, options, callback) {
    inCollection(link);
    var r = rest(options, callback);
    operation.pageSize = r.options.pageSize || 100;
    operation.continuation = r.options.continuation || '';
    return start(operation, r.callback);
  }

  // What a pipeline of the query API does with the documents of a page.
  var steps = {
    filter: function (list, f) { return list.filter(function (d) { return f(d); }); },
    map: function (list, f) { return list.map(function (d) { return f(d); }); },
    pluck: function (list, name) { return list.map(function (d) { return d[name]; }); },
    flatten: function (list, shallow) { return list.filter(Array.isArray).flat(shallow ? 1 : Infinity); },
    unwind: function (list, inner, result) {
      var out = [];
      list.forEach(function (d) {
        var within = inner(d);
        if (Array.isArray(within)) within.forEach(function (e) { out.push(result ? result(d, e) : e); });
      });
      return out;
    },
    sortBy: function (list, f) { return sorted(list, f, 1); },
    sortByDescending: function (list, f) { return sorted(list, f, -1); }
  };

  var ranks = { 'undefined': 0, 'null': 1, 'boolean': 2, 'number': 3, 'string': 4, 'object': 5 };

  function sorted(list, f, sign) {
    return list.map(function (d) {
      var key = f ? f(d) : d;
      return { key: key, rank: ranks[key === null ? 'null' : typeof key], row: d };
    }).sort(function (a, b) {
      if (a.rank !== b.rank) return sign * (a.rank - b.rank);
      return a.key < b.key ? -sign : a.key > b.key ? sign : 0;
    }).map(function (e) { return e.row; });
  }

  function isSort(step) { return step.name === 'sortBy' || step.name === 'sortByDescending'; }

  function predicate(f) { if (typeof f !== 'function') bad('The predicate/transform function must be provided.'); }

  // Each query function has so many arguments of its own before [options], [callback].
  var shapes = {
    filter: function (args) { predicate(args[0]); return 1; },
    map: function (args) { predicate(args[0]); return 1; },
    pluck: function (args) {
      if (typeof args[0] !== 'string' || args[0] === '') bad('The property name must be a string and cannot be empty.');
      return 1;
    },
    flatten: function (args) { return typeof args[0] === 'boolean' ? 1 : 0; },
    unwind: function (args) {
      if (typeof args[0] !== 'function') bad('When using "unwind", "collectionSelector" must be a function.');
      return typeof args[1] === 'function' && args[1].length === 2 ? 2 : 1;
    },
    sortBy: function (args) { predicate(args[0]); return 1; },
    sortByDescending: function (args) { predicate(args[0]); return 1; }
  };

  // query runs a pipeline over the documents, a page at a time. A sort has to see all of them first.
  function query(pipeline, options, callback) {
    var r = rest(options, callback), all = [], whole = pipeline.some(isSort);
    if (r.callback === undefined) {
      if (response === undefined) bad('The callback function must be provided for scenarios, such as pre-trigger, when response object is not available.');
      r.callback = function (err, list) {
        if (err) throw err;
        response.setBody(list);
      };
    }
    function page(continuation) {
      return native.start({ kind: 'list', pageSize: r.options.pageSize || 100, continuation: continuation }, function (err, list, options) {
        if (err) return r.callback(err);
        if (whole) {
          list.forEach(function (d) { all.push(d); });
          if (options.continuation) {
            if (!page(options.continuation)) r.callback(new Error(codes.RequestEntityTooLarge, 'There are too many documents to be sorted.'));
            return;
          }
          list = all;
        }
        pipeline.forEach(function (step) { list = apply(steps[step.name], null, [list].concat(step.args)); });
        r.callback(undefined, list, options);
      });
    }
    return { isAccepted: page(r.options.continuation || '') };
  }

  var apply = Reflect.apply;

  function chain() {
    var pipeline = [], c = { isAccepted: true };
    Object.keys(shapes).forEach(function (name) {
      c[name] = function () {
        var n = shapes[name](arguments);
        if (arguments.length > n) bad('When using "chain", options and the callback can only be provided on the call to the "value" function.');
        pipeline.push({ name: name, args: Array.from(arguments) });
        return c;
      };
    });
    c.value = function (options, callback) { return query(pipeline, options, callback); };
    return c;
  }

  function Collection() {}
  Collection.ErrorCodes = codes;
  var methods = Collection.prototype;
  methods.getSelfLink = function () { return selfLink; };
  methods.getAltLink = function () { return altLink; };
  methods.createDocument = function (link, body, options, callback) {
    need('createDocument', arguments, 2);
    inCollection(link);
    var r = rest(options, callback);
    return start({ kind: 'create', body: textOf(body, r.options) }, r.callback);
  };
  methods.upsertDocument = function (link, body, options, callback) {
    need('upsertDocument', arguments, 2);
    inCollection(link);
    var r = rest(options, callback);
    return start({ kind: 'upsert', body: textOf(body, r.options), etag: r.options.etag || '' }, r.callback);
  };
  methods.readDocument = function (link, options, callback) {
    need('readDocument', arguments, 1);
    var at = documentAt(link), r = rest(options, callback);
    return start({ kind: 'read', rid: at.rid, id: at.id, etag: r.options.ifNoneMatch || '' }, r.callback);
  };
  methods.replaceDocument = function (link, body, options, callback) {
    need('replaceDocument', arguments, 2);
    var at = documentAt(link), r = rest(options, callback);
    return start({ kind: 'replace', rid: at.rid, id: at.id, body: textOf(body), etag: r.options.etag || '' }, r.callback);
  };
  methods.deleteDocument = function (link, options, callback) {
    need('deleteDocument', arguments, 1);
    var at = documentAt(link), r = rest(options, callback);
    return start({ kind: 'delete', rid: at.rid, id: at.id, etag: r.options.etag || '' },
      r.callback && function (err, body, options) { r.callback(err, err ? undefined : options); });
  };
  methods.queryDocuments = function (link, query, options, callback) {
    need('queryDocuments', arguments, 2);
    if (typeof query !== 'string' && (query === null || typeof query !== 'object')) {
      bad('The "filterQuery" parameter must be of type "string" or "object". Actual type is: "' + typeof query + '".');
    }
    return feed({ kind: 'query', body: JSON.stringify(typeof query === 'string' ? { query: query } : query) }, link, options, callback);
  };
  methods.readDocuments = function (link, options, callback) {
    need('readDocuments', arguments, 1);
    return feed({ kind: 'list' }, link, options, callback);
  };
  ['createAttachment', 'readAttachment', 'readAttachments', 'replaceAttachment', 'deleteAttachment', 'upsertAttachment',
    'queryAttachments'].forEach(function (name) {
    methods[name] = function () { bad('The function "' + name + '" is not supported by this server: there are no attachments.'); };
  });
  methods.chain = chain;
  Object.keys(shapes).forEach(function (name) {
    methods[name] = function () {
      var n = shapes[name](arguments), args = Array.from(arguments);
      return query([{ name: name, args: args.slice(0, n) }], args[n], args[n + 1]);
    };
  });

  // Message is a request or a response: named values, of which some may be changed.
  function Message(values, writable) {
    function known(name) {
      if (!(name in values)) bad('Cannot set new values: ' + name);
      if (writable.indexOf(name) < 0) refuse('Not a writable property: ' + name);
    }
    var changed = false;
    function set(name, value) {
      known(name);
      changed = true;
      values[name] = value;
    }
    this.outcome = function () { return changed ? values.Body : undefined; };
    function append(name, value) {
      known(name);
      var old = values[name];
      set(name, old === null || old === undefined ? value : old + value);
    }
    this.getValue = function (name) { return values[name]; };
    this.getBody = function () { return values.Body; };
    if ('OperationType' in values) this.getOperationType = function () { return values.OperationType; };
    if (writable.length > 0) {
      this.setValue = set;
      this.appendValue = append;
      this.setBody = function (value) { set('Body', value); };
      this.appendBody = function (value) { append('Body', value); };
    }
  }

  function values(o) { return Object.assign(Object.create(null), o); }

  var request = new Message(values({ Body: native.request, OperationType: native.operation }), kind === 'pre' ? ['Body'] : []);
  var response = kind === 'pre' ? undefined : new Message(values({ Body: native.response }), ['Body']);
  if (kind === 'post') {
    response.getMaxResourceQuota = function () { return native.limits; };
    response.getResourceQuotaCurrentUsage = function () { return native.usage; };
  }

  var collection = new Collection();
  var context = {
    getCollection: function () { return collection; },
    getRequest: function () { return request; },
    getResponse: function () {
      if (response === undefined) bad('The response object is not available in a pre-trigger.');
      return response;
    },
    abort: native.abort
  };
  collection.request = request;
  if (response !== undefined) collection.response = response;

  var global = this;
  function constant(name, value) { Object.defineProperty(global, name, { value: value, writable: true, enumerable: false, configurable: true }); }
  constant('getContext', function () { return context; });
  constant('__', collection);
  constant('ErrorCodes', codes);
  constant('console', {
    log: function (format) {
      var args = Array.from(arguments), next = 1;
      if (typeof format === 'string') {
        args[0] = format.replace(/%([sdifoOj%])/g, function (all, verb) {
          if (verb === '%') return '%';
          return next < args.length ? show(args[next++]) : all;
        });
      }
      native.log([args[0]].concat(args.slice(next)).map(show).join(' '));
    }
  });
  console.info = console.warn = console.error = console.log;

  function show(v) { return v !== null && typeof v === 'object' && !(v instanceof Error) ? JSON.stringify(v) : String(v); }

  var outcome = kind === 'pre' ? request.outcome : response.outcome;
  delete request.outcome;
  if (response !== undefined) delete response.outcome;
  return outcome;
})
