/** The arrows of ARCHITECTURE.md: who may import whom. `npm run boundaries` fails when a file breaks one. */

const ours = '^(src|migrations|packages)/';
const tests = '\\.test\\.ts$';
const room = '^src/modules/([^/]+)/';

module.exports = {
  forbidden: [
    {
      name: 'core-imports-nothing-of-ours',
      comment: 'Decisions are pure: plain data in, plain data out.',
      severity: 'error',
      from: { path: '^src/core/', pathNot: tests },
      to: { path: ours, pathNot: '^src/core/' },
    },
    {
      name: 'core-knows-no-framework-database-or-clock',
      severity: 'error',
      from: { path: '^src/core/', pathNot: tests },
      to: { path: 'node_modules/(@nestjs|typeorm|pg|express)/|^(fs|net|http|https|child_process|timers)(/|$)' },
    },
    {
      name: 'rest-contract-imports-nothing-of-ours',
      comment: 'It is a product of its own.',
      severity: 'error',
      from: { path: '^packages/rest-contract/' },
      to: { path: ours, pathNot: '^packages/rest-contract/' },
    },
    {
      name: 'client-imports-rest-contract-only',
      comment: 'It is published alone, and runs in browsers.',
      severity: 'error',
      from: { path: '^packages/client/src/' },
      to: {
        path: `${ours}|node_modules/`,
        pathNot: '^packages/(client/src/|rest-contract/(src|dist)/(client|fetch)\\.)|node_modules/rest-contract/',
      },
    },
    {
      name: 'the-dashboard-knows-the-service-by-its-client-alone',
      comment: 'It calls the API as anyone else does.',
      severity: 'error',
      from: { path: '^packages/dashboard/src/', pathNot: '\\.test\\.tsx?$' },
      to: {
        path: `${ours}|node_modules/`,
        pathNot:
          '^packages/(dashboard/src/|client/)|node_modules/(react|react-dom|@base-ui|@tanstack|@types|muster-client)/',
      },
    },
    {
      name: 'parts-of-the-dashboard-know-no-page',
      comment: 'What pages share stands in ui, logs, live, forms and actions.',
      severity: 'error',
      from: { path: '^packages/dashboard/src/(ui|logs|live|forms|actions)/' },
      to: { path: '^packages/dashboard/src/pages/' },
    },
    {
      name: 'nothing-of-ours-imports-the-dashboard-or-the-guide',
      severity: 'error',
      from: { path: '^(src|migrations|packages/(client|rest-contract))/' },
      to: { path: '^packages/(dashboard|guide)/' },
    },
    {
      name: 'agent-and-drivers-know-no-room-and-no-database',
      comment: 'An agent runs on a machine that has neither.',
      severity: 'error',
      from: { path: '^src/(agent|pod-agent|cluster)/', pathNot: tests },
      to: { path: '^src/((modules|scheduler|cli)/|rows\\.ts$)|^src/platform/database/|node_modules/(typeorm|pg)/' },
    },
    {
      name: 'the-agent-knows-no-pods',
      comment: 'The agent of a node of Kubernetes is another program, made of rooms of this one.',
      severity: 'error',
      from: { path: '^src/agent/', pathNot: tests },
      to: { path: '^src/pod-agent/' },
    },
    {
      name: 'the-driver-calls-the-agent-of-a-node-by-its-contract',
      severity: 'error',
      from: { path: '^src/cluster/', pathNot: tests },
      to: { path: '^src/pod-agent/', pathNot: '^src/pod-agent/(pod-agent-(api|client)|keys)\\.ts$' },
    },
    {
      name: 'rooms-and-scheduler-use-the-port-of-the-cluster-only',
      comment: 'Which driver runs is a matter of the start, not of a room.',
      severity: 'error',
      from: { path: '^src/(modules|scheduler)/', pathNot: tests },
      to: { path: '^src/(agent|pod-agent|cli)/|^src/cluster/(?!cluster-driver\\.ts$)' },
    },
    {
      name: 'commands-know-the-client-alone',
      comment: 'They start as fast as Node itself. What runs a server, src/cli/server, is loaded when it is to run.',
      severity: 'error',
      from: {
        path: '^(src/(cli/|main\\.ts)|packages/migrate/src/commands\\.ts$)',
        pathNot: `^src/cli/server/|${tests}`,
      },
      to: {
        path: '^(src|packages/migrate)/|node_modules/(@nestjs|typeorm|pg|zod|reflect-metadata)/',
        // Words of hints, names of members and what a terminal is shown, which know nothing else.
        pathNot:
          '^src/(cli/|core/(content-id|did-you-mean|in-order|other-names|schedules/timing-members|terminal-text)\\.ts$|platform/(addresses|file-problem)\\.ts$)|^packages/migrate/src/commands\\.ts$',
        dependencyTypesNot: ['type-only', 'dynamic-import'],
      },
    },
    {
      name: 'commands-load-servers-when-they-run',
      severity: 'error',
      from: { path: '^src/cli/', pathNot: `^src/cli/server/|${tests}` },
      to: { path: '^src/cli/server/', dependencyTypesNot: ['type-only', 'dynamic-import'] },
    },
    {
      name: 'the-service-knows-nothing-of-moving',
      comment: 'It is needed once per installation. `muster` lists its commands, and loads them when they run.',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/cli/commands/index\\.ts$|${tests}` },
      to: { path: '^packages/migrate/' },
    },
    {
      name: 'moving-stands-on-rooms-as-a-room-does',
      severity: 'error',
      from: {
        path: '^packages/migrate/src/',
        pathNot: '/(main|commands|open-database|import-(from|files|history))\\.ts$',
      },
      to: { path: '^src/(agent|pod-agent|cluster|cli|scheduler)/|\\.(controller|poller)\\.ts$' },
    },
    {
      name: 'platform-knows-no-room',
      severity: 'error',
      from: { path: '^src/platform/', pathNot: tests },
      to: { path: '^src/((modules|scheduler|agent|pod-agent|cli)/|rows\\.ts$)', pathNot: '\\.entity\\.ts$' },
    },
    {
      name: 'rooms-do-not-know-the-scheduler',
      severity: 'error',
      from: { path: '^src/(modules/|rows\\.ts$)', pathNot: tests },
      to: { path: '^src/scheduler/' },
    },
    {
      name: 'rooms-ask-repositories-and-services',
      comment:
        'Another room is asked through its repositories and the services it exports, never its controllers or pollers.',
      severity: 'error',
      from: { path: room, pathNot: tests },
      to: { path: '^src/modules/([^/]+)/.*\\.(controller|poller)\\.ts$', pathNot: '^src/modules/$1/' },
    },
    {
      name: 'the-global-module-is-for-the-application',
      comment:
        'A repository is injected by its class; whoever imports the module that provides all of them imports all rooms.',
      severity: 'error',
      from: { path: '^src/(modules|scheduler|platform|core)/', pathNot: tests },
      to: { path: '^src/repositories\\.module\\.ts$' },
    },
    {
      name: 'migrations-stand-alone',
      comment: 'A migration that has landed must not change with the code.',
      severity: 'error',
      from: { path: '^migrations/' },
      to: { path: '^(src|packages)/' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: { pathNot: 'node_modules' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-test-code-in-the-product',
      severity: 'error',
      from: { path: '^(src|migrations|packages/migrate/src)/', pathNot: tests },
      to: { path: '^test/|\\.test\\.ts$|node_modules/(vitest|fast-check)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules/' },
    exclude: { path: '(^|/)dist/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js', '.json', '.mjs'], conditionNames: ['import', 'node'] },
  },
};
