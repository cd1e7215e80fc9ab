export { isFinal, safeName } from './command-life.js';
export { holdsKill, type BeforeKillCommand } from './holds-kill.js';
export { refuseCommand, type CommandRefusal, type ConfiguredCommand } from './refuse-command.js';
