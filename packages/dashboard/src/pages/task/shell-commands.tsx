import type { TaskHistory, TaskId, TaskShellCommandHistory } from 'muster-client';
import { muster } from '../../api';
import type { Action } from '../../actions/action';
import { ActionButton } from '../../actions/action-button';
import { Go, paths } from '../../ui/links';
import { Panel, useRead } from '../../ui/read';
import { Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { inWords } from '../../ui/words';
import { shellCommands } from '../../view';

export function ShellCommands({ history, isRunning }: { history: TaskHistory; isRunning: boolean }) {
  const taskId = history.task.taskId.id;
  const read = useRead(['task', taskId, 'commands'], () => muster.tasks.shellCommands({ taskId }), { everyMs: 5_000 });
  const columns: readonly Column<TaskShellCommandHistory>[] = [
    {
      id: 'name',
      title: 'Command',
      cell: ({ shellRequest }) => (
        <code>{[shellRequest.shellCommand.name, ...(shellRequest.shellCommand.options ?? [])].join(' ')}</code>
      ),
    },
    { id: 'at', title: 'Asked for', cell: ({ shellRequest }) => <Time at={shellRequest.timestamp} /> },
    { id: 'user', title: 'By', cell: ({ shellRequest }) => shellRequest.user ?? '' },
    {
      id: 'state',
      title: 'State',
      cell: ({ shellUpdates }) => {
        const last = shellUpdates.toSorted((a, b) => a.timestamp - b.timestamp).at(-1);
        return last ? `${inWords(last.updateType)} ${last.message ?? ''}` : 'waits';
      },
    },
    {
      id: 'output',
      title: 'Output',
      cell: ({ shellUpdates }) => {
        const file = shellUpdates.find(({ outputFilename }) => outputFilename !== undefined)?.outputFilename;
        return file === undefined ? '' : <Go to={paths.tail(taskId, file)}>{file}</Go>;
      },
    },
  ];
  return (
    <>
      {isRunning && shellCommands.length === 0 && (
        <p className="empty">The settings name no commands (ui.shellCommands).</p>
      )}
      {isRunning && shellCommands.length > 0 && <ActionButton action={runCommand(history.task.taskId)} />}
      <Panel of={read}>
        {(commands) => (
          <Table
            label="Commands"
            rows={commands}
            columns={columns}
            keyOf={({ shellRequest }) => `${shellRequest.timestamp}${shellRequest.shellCommand.name}`}
            empty="None was run."
          />
        )}
      </Panel>
    </>
  );
}

const runCommand = ({ id: taskId, requestId }: TaskId): Action => ({
  id: 'shell-command',
  needs: { requestId, scope: 'WRITE' },
  label: 'Run a command',
  explains: 'Runs beside the task, on its machine. Its output becomes a file of the task.',
  fields: [
    {
      kind: 'choice',
      name: 'name',
      label: 'Command',
      initial: shellCommands[0]?.name ?? '',
      choices: shellCommands.map(
        ({ name, description }) => [name, description ? `${name}: ${description}` : name] as const,
      ),
    },
    { kind: 'lines', name: 'options', label: 'Options, one a line' },
  ],
  run: (values) => {
    const options = values.lines('options');
    return muster.tasks.runShellCommand({
      taskId,
      body: { name: values.text('name') ?? '', ...(options.length > 0 && { options }) },
    });
  },
  done: 'It was asked for',
  outdates: [['task', taskId]],
});
