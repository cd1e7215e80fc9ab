import { Go, paths, useParam } from '../../ui/links';
import { Files } from './files';

export function Page() {
  const taskId = useParam('taskId');
  const folder = useParam('_splat').replace(/\/+$/, '');
  return (
    <>
      <div className="head">
        <h1>Files</h1>
        <Go to={paths.task(taskId)}>{taskId}</Go>
      </div>
      <Files taskId={taskId} folder={folder} />
    </>
  );
}
