import { Go, paths, useParam } from '../../ui/links';
import { Files } from './files';
import { Heading } from '../../ui/heading';

export function Page() {
  const taskId = useParam('taskId');
  const folder = useParam('_splat').replace(/\/+$/, '');
  return (
    <>
      <div className="head">
        <Heading>Files</Heading>
        <Go to={paths.task(taskId)}>{taskId}</Go>
      </div>
      <Files taskId={taskId} folder={folder} />
    </>
  );
}
