// Writes a corrected copy of the PostgreSQL client, postgres.js 3.4.9, to dist/postgres. The build runs it
// (prepare.mjs, npm run build, Dockerfile); src/stores/postgres/driver.ts loads the copy. Plain JavaScript without
// dependencies, like prepare.mjs.
// Usage: node scripts/correct-postgres.mjs [the folder of the build]
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const packageFolder = join(root, 'node_modules', 'postgres');
const version = '3.4.9';

/**
 * What is changed, by file: each `original` occurs exactly once. Three faults and two additions:
 *
 * 1. A connection that was lost in the middle of a transaction took its place in the pool with it. The transaction's
 *    ROLLBACK was queued on the closed connection, an exception that nobody caught followed, and the queries that got
 *    this connection next never settled.
 * 2. Queries that were queued between the error of a socket and its end, or within a lost transaction, never settled.
 *    A reservation that failed stayed in the queue and swallowed a connection later.
 * 3. A pool that was ended while it opened a connection opened it all the same, and kept it for `idle_timeout`.
 * 4. `silence_timeout`, in seconds: a connection that owes replies and receives no byte for so long is destroyed, and
 *    the idle ones of its pool with it. `patience(seconds)` of a transaction or a reserved connection replaces the
 *    bound while it lasts; 0 is none.
 * 5. `part_of` gives the call that a query or transaction belongs to when it is made. Once the call has a `refusal`,
 *    what has not been sent for it is not sent any more, and its transaction is rolled back instead of committed.
 */
export const corrections = {
  'query.js': [
    {
      what: 'the call that a query is part of',
      original: `    this.signature = ''
`,
      corrected: `    this.signature = ''
    this.partOf = this.handler.partOf ? this.handler.partOf() : undefined
`,
    },
    {
      what: 'a query of a refused call is settled with its refusal',
      original: `  cancel() {
    return this.canceller`,
      corrected: `  dropIfRefused() {
    const refusal = this.partOf && this.partOf.refusal
    return refusal ? (this.reject(refusal), true) : false
  }

  cancel() {
    return this.canceller`,
    },
  ],
  'connection.js': [
    {
      what: 'the state of the watch for silence',
      original: `    , final = null

  const connection = {`,
      corrected: `    , final = null
    , silence = null

  const connection = {
    patience: null,
    doubt,`,
    },
    {
      what: 'a connection that is asked for after its end is opened',
      original: `    connect(query) {
      initial = query`,
      corrected: `    connect(query) {
      terminated = false
      initial = query`,
    },
    {
      what: 'a connection that was ended meanwhile is not opened',
      original: `    terminated = false
    backendParameters = {}
    socket || (socket = await createSocket())

    if (!socket)
      return`,
      corrected: `    if (terminated) {
      initial && queryError(initial, Errors.connection('CONNECTION_DESTROYED', options))
      initial = null
      return
    }
    backendParameters = {}
    socket || (socket = await createSocket())

    if (!socket || terminated)
      return socket = null`,
    },
    {
      what: 'a connection that is ended while it is opened is closed',
      original: `      socket.readyState === 'open' && socket.end(b().X().end())`,
      corrected: `      socket.readyState === 'open' ? socket.end(b().X().end()) : socket.destroy()`,
    },
    {
      what: 'the first query of a connection settles too where the URL names several hosts',
      original: `    if (connection.queue === queues.connecting && options.host[retries + 1])
      return`,
      corrected: `    if (initial && connection.queue === queues.connecting && options.host[retries + 1])
      return`,
    },
    {
      what: 'a query that is owed a reply starts the watch',
      original: `    chunk = nextWriteTimer = null
    return x
  }`,
      corrected: `    chunk = nextWriteTimer = null
    silence === null && watch()
    return x
  }

  function watch() {
    const seconds = connection.patience === null ? options.silence_timeout : connection.patience
    unwatch()
    seconds && (silence = setTimeout(silent, seconds * 1000))
  }

  function unwatch() {
    silence !== null && clearTimeout(silence)
    silence = null
  }

  // What arrived while the process itself stood still is read before the connection is given up.
  function silent() {
    const x = socket
        , bytes = x && x.bytesRead
    silence = null
    x && setImmediate(() => {
      if (x !== socket || x.bytesRead !== bytes)
        return
      options.onsilence && options.onsilence()
      x.destroy()
      options.shared.connections.forEach(c => c.doubt())
    })
  }

  // Another connection of the pool was found dead: this one is not handed out again if it is idle.
  function doubt() {
    socket && !connection.reserved && !query && !initial && !sent.length && socket.destroy()
  }`,
    },
    {
      what: 'a byte starts the watch anew',
      original: `  function data(x) {
    if (incomings) {`,
      corrected: `  function data(x) {
    silence !== null && watch()
    if (incomings) {`,
    },
    {
      what: 'the watch ends with the last reply that is owed',
      original: `      incoming = incoming.subarray(length + 1)
      remaining = 0
      incomings = null
    }
  }`,
      corrected: `      incoming = incoming.subarray(length + 1)
      remaining = 0
      incomings = null
    }
    query || initial || sent.length || unwatch()
  }`,
    },
    {
      what: 'nothing of a closed socket reaches the next one; every query settles',
      original: `    clearImmediate(nextWriteTimer)
    socket.removeListener('data', data)
    socket.removeListener('connect', connected)
    idleTimer.cancel()`,
      corrected: `    clearImmediate(nextWriteTimer)
    chunk = nextWriteTimer = null
    unwatch()
    socket.removeListener('data', data)
    socket.removeListener('connect', connected)
    idleTimer.cancel()`,
    },
    {
      what: 'every query settles, also one that came after the error; nothing of it is left for the next socket',
      original: `    if (initial)
      return reconnect()

    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
    closedTime = performance.now()`,
      corrected: `    ;(initial || query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
    query = results = errorResponse = null
    result = new Result()
    rows = 0
    connection.patience = null

    if (initial)
      return reconnect()

    closedTime = performance.now()`,
    },
    {
      what: 'a connection that is lost while it asks for the types of arrays fails the query that it was opened for, and nothing else',
      original: `        return fetchArrayTypes()`,
      corrected: `        return fetchArrayTypes().catch(noop)`,
    },
    {
      what: 'a query whose call was refused while its connection was opened is not sent',
      original: `      initial && !initial.reserve && execute(initial)
      options.shared.retries = retries = 0
      initial = null
      return`,
      corrected: `      options.shared.retries = retries = 0
      if (initial && !initial.reserve && initial.dropIfRefused()) {
        initial = null
        return ending ? terminate() : onopen(connection)
      }
      initial && !initial.reserve && execute(initial)
      initial = null
      return`,
    },
    {
      what: 'a statement whose call was refused while its parameters were described is not carried out',
      original: `    query.describeFirst && !query.onlyDescribe && (write(prepared(query)), query.describeFirst = false)`,
      corrected: `    if (query.describeFirst && !query.onlyDescribe) {
      write(query.dropIfRefused() ? Sync : prepared(query))
      query.describeFirst = false
    }`,
    },
    {
      what: 'a statement whose call was refused is not tried again',
      original: `          : query.prepared && retryRoutines.has(errorResponse.routine)`,
      corrected: `          : query.prepared && retryRoutines.has(errorResponse.routine) && !query.dropIfRefused()`,
    },
    {
      what: 'the usual bound holds again after a transaction',
      original: `          : (connection.reserved = null, onopen(connection))`,
      corrected: `          : (connection.reserved = connection.patience = null, onopen(connection))`,
    },
  ],
  'index.js': [
    {
      what: 'the option, and the connections of a pool',
      original: `    max_pipeline    : 100,`,
      corrected: `    silence_timeout : null,
    max_pipeline    : 100,`,
    },
    {
      what: 'the calls that queries are part of',
      original: `    onnotify        : o.onnotify,`,
      corrected: `    part_of         : o.part_of,
    onnotify        : o.onnotify,`,
    },
    {
      what: 'the call that a query is part of when it is made',
      original: `    handler.debug = options.debug
`,
      corrected: `    handler.debug = options.debug
    handler.partOf = options.part_of
`,
    },
    {
      what: 'a query of a refused call takes no connection',
      original: `      return query.reject(Errors.connection('CONNECTION_ENDED', options, options))

    if (open.length)`,
      corrected: `      return query.reject(Errors.connection('CONNECTION_ENDED', options, options))

    if (query.dropIfRefused())
      return

    if (open.length)`,
    },
    {
      what: 'a query whose call was refused while it waited for a connection is not sent',
      original: `      , ready = true

    while (ready && queries.length && max-- > 0) {
      const query = queries.shift()
      if (query.reserve)
        return query.reserve(c)

      ready = c.execute(query)
    }
`,
      corrected: `      , ready = true
      , isIdle = true

    while (ready && queries.length && max-- > 0) {
      const query = queries.shift()
      if (query.reserve)
        return query.reserve(c)

      if (query.dropIfRefused())
        continue

      isIdle = false
      ready = c.execute(query)
    }

    if (isIdle)
      return onopen(c)
`,
    },
    {
      what: 'the call that a transaction is part of',
      original: `      await sql.unsafe('begin ' + options.replace(/[^a-z ]/ig, ''), [], { onexecute }).execute()`,
      corrected: `      const opening = sql.unsafe('begin ' + options.replace(/[^a-z ]/ig, ''), [], { onexecute })
      partOf = opening.partOf
      await opening.execute()`,
    },
    {
      what: 'the statements of a transaction are part of its call',
      original: `      let uncaughtError
        , result

      name &&`,
      corrected: `      handler.partOf = () => partOf
      let uncaughtError
        , result
        , isEnding = false

      name &&`,
    },
    {
      what: 'a transaction whose call was refused does not begin',
      original: `        result = await new Promise((resolve, reject) => {
          const x = fn(sql)`,
      corrected: `        assertNotRefused()
        result = await new Promise((resolve, reject) => {
          const x = fn(sql)`,
    },
    {
      what: 'a transaction whose call was refused is rolled back',
      original: `          throw uncaughtError
      } catch (e) {
        await (name`,
      corrected: `          throw uncaughtError
        assertNotRefused()
        isEnding = true
      } catch (e) {
        isEnding = true
        await (name`,
    },
    {
      what: 'the hook that a dead connection is told to',
      original: `    onclose         : o.onclose,`,
      corrected: `    onclose         : o.onclose,
    onsilence       : o.onsilence,`,
    },
    {
      what: 'the connections of a pool',
      original: `    shared          : { retries: 0, typeArrayMap: {} },`,
      corrected: `    shared          : { retries: 0, typeArrayMap: {}, connections: [] },`,
    },
    {
      what: 'the connections of a pool, filled in',
      original: `  const connections = [...Array(options.max)].map(() => Connection(options, queues, { onopen, onend, onclose }))`,
      corrected: `  const connections = [...Array(options.max)].map(() => Connection(options, queues, { onopen, onend, onclose }))
  options.shared.connections = connections`,
    },
    {
      what: 'a reservation that failed is not fulfilled later',
      original: `        const query = { reserve: resolve, reject }`,
      corrected: `        const query = { reserve: resolve, reject: e => (queries.remove(query), reject(e)) }`,
    },
    {
      what: 'a reserved connection that is lost takes no more queries and is not given back',
      original: `    move(c, reserved)
    c.reserved = () => queue.length
      ? c.execute(queue.shift())
      : move(c, reserved)
    c.reserved.release = true

    const sql = Sql(handler)
    sql.release = () => {
      c.reserved = null
      onopen(c)
    }

    return sql

    function handler(q) {
      c.queue === full`,
      corrected: `    let lost = null
    move(c, reserved)
    c.reserved = () => queue.length
      ? c.execute(queue.shift())
      : move(c, reserved)
    c.reserved.release = true
    c.onclose = e => {
      lost = e
      while (queue.length)
        queue.shift().reject(e)
    }

    const sql = Sql(handler)
    sql.patience = seconds => lost || (c.patience = seconds)
    sql.release = () => {
      if (lost)
        return
      c.reserved = c.patience = c.onclose = null
      onopen(c)
    }

    return sql

    function handler(q) {
      if (lost)
        return q.reject(lost)
      c.queue === full`,
    },
    {
      what: 'the state of a transaction',
      original: `    const queries = Queue()
    let savepoints = 0
      , connection
      , prepare = null`,
      corrected: `    const queries = Queue()
    let savepoints = 0
      , connection
      , lost = null
      , partOf
      , prepare = null`,
    },
    {
      what: 'a transaction that is lost settles the queries that wait in it',
      original: `        new Promise((_, reject) => connection.onclose = reject)`,
      corrected: `        new Promise((_, reject) => connection.onclose = e => {
          reject(lost = e)
          while (queries.length)
            queries.shift().reject(e)
        })`,
    },
    {
      what: 'the bound of a transaction',
      original: `      sql.savepoint = savepoint
      sql.prepare =`,
      corrected: `      sql.savepoint = savepoint
      sql.patience = seconds => lost || (c.patience = seconds)
      sql.prepare =`,
    },
    {
      what: 'a transaction that is lost takes no more queries, its own ROLLBACK among them, nor one whose call was refused',
      original: `        q.catch(e => uncaughtError || (uncaughtError = e))
        c.queue === full`,
      corrected: `        q.catch(e => uncaughtError || (uncaughtError = e))
        if (lost)
          return q.reject(lost)
        if (!isEnding && q.dropIfRefused())
          return
        c.queue === full`,
    },
    {
      what: 'the refusal of the call of a transaction',
      original: `    function onexecute(c) {`,
      corrected: `    function assertNotRefused() {
      if (partOf && partOf.refusal)
        throw partOf.refusal
    }

    function onexecute(c) {`,
    },
  ],
};

/** The corrected text of a file. Throws where the text that is to be changed is not there exactly once. */
export function corrected(file, text) {
  return (corrections[file] ?? []).reduce((changed, { what, original, corrected: replacement }) => {
    const parts = changed.split(original);
    if (parts.length !== 2)
      throw new Error(`${file} of postgres has ${parts.length - 1} places for "${what}", not one`);
    return parts.join(replacement);
  }, text);
}

/** Writes the copy below `dist`. Throws on another version: its corrections have to be looked at anew. */
export function correctPostgres(dist) {
  const found = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')).version;
  if (found !== version)
    throw new Error(`the corrections of scripts/correct-postgres.mjs are for postgres ${version}, not ${found}`);
  const target = join(dist, 'postgres');
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  cpSync(join(packageFolder, 'cjs', 'src'), target, { recursive: true });
  cpSync(join(packageFolder, 'cjs', 'package.json'), join(target, 'package.json'));
  for (const file of Object.keys(corrections))
    writeFileSync(join(target, file), corrected(file, readFileSync(join(target, file), 'utf8')));
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  correctPostgres(resolve(process.argv[2] ?? join(root, 'dist')));
  process.stderr.write('Wrote a corrected postgres.js\n');
}
