/**
 * Preloaded into the product on its modules (muster-on-modules.mjs) with `node --import`. From SIGUSR2 on the scheduler ends itself, as hard as can be, when it
 * comes to the point that CRASH_POINT names: `after the commit of CleanupPoller.clean`, `before launch`, ...
 */
const point = process.env.CRASH_POINT;
let armed = false;

// Whatever the product starts inherits the option, and is left alone.
if (point && process.argv[1]?.endsWith('muster-on-modules.mjs')) {
  const { Database } = await import('../../../dist/src/platform/database/database.js');
  const { LocalDriver } = await import('../../../dist/src/cluster/local/local-driver.js');
  process.on('SIGUSR2', () => (armed = true));
  aroundTransactions(Database.prototype, 'leaderTransaction');
  for (const name of ['launch', 'kill']) around(LocalDriver.prototype, name);
}

function pass(here) {
  if (armed && here === point) process.kill(process.pid, 'SIGKILL');
}

function aroundTransactions(database, name) {
  const transaction = database[name];
  database[name] = async function (work) {
    const commit = `the commit of ${caller()}`;
    const result = await transaction.call(this, async (...parameters) => {
      const done = await work(...parameters);
      pass(`before ${commit}`);
      return done;
    });
    pass(`after ${commit}`);
    return result;
  };
}

function around(port, name) {
  const method = port[name];
  port[name] = async function (...parameters) {
    pass(`before ${name}`);
    const answer = await method.apply(this, parameters);
    pass(`after ${name}`);
    return answer;
  };
}

/** The function whose transaction it is, by the stack. */
function caller() {
  const frame = new Error().stack.split('\n')[3] ?? '';
  return /at (?:async )?([\w.]+)/.exec(frame)?.[1] ?? 'somebody';
}
