import { runCommand } from './cli/program.js';

// The only look at the environment of this process.
void runCommand(process.argv.slice(2), process.env).then(async (exitCode) => {
  // What was printed into a pipe has to be through it before the end.
  await Promise.all([process.stdout, process.stderr].map((out) => new Promise((done) => out.write('', done))));
  process.exit(exitCode);
});
