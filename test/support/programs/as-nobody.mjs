import { pathToFileURL } from 'node:url';

/** Runs the Node program named first as the user with the fewest rights. */
const nobody = 65_534;
const [program] = process.argv.splice(2, 1);
process.setgroups([]);
process.setgid(nobody);
process.setuid(nobody);
await import(pathToFileURL(program).href);
