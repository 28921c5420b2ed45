// The stored procedures that every container has, by their ids.
({
  '__.sys.echo': function (input) { getContext().getResponse().setBody(input); },

  // commonBulkInsert creates documents, or upserts them where options.enableUpsert says so, in their order. It stops where one
  // fails, which ends it with nothing done, or where there is no room for more: the answer tells how many have been taken
  // up, so that the caller can send the rest. With options.softStopOnConflict a conflict stops it as well, with what was done before.
  '__.sys.commonBulkInsert': function (documents, options) {
    var collection = getContext().getCollection(), result = { count: 0, errorCode: 0 };
    options = options || {};
    if (!Array.isArray(documents)) throw new Error(400, 'The first argument must be an array of documents.');
    var write = options.enableUpsert ? collection.upsertDocument : collection.createDocument;
    getContext().getResponse().setBody(result);
    next();

    function next() {
      if (result.count === documents.length) return;
      write.call(collection, collection.getSelfLink(), documents[result.count],
        { disableAutomaticIdGeneration: options.disableAutomaticIdGeneration === true }, done);
    }

    function done(err) {
      if (err && err.number === 409 && options.softStopOnConflict) {
        result.errorCode = 409;
        return;
      }
      if (err) throw err;
      result.count++;
      next();
    }
  }
})
