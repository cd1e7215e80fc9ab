import { useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import type { Request } from 'muster-client';
import { muster } from '../../api';
import { useDraft } from '../../forms/draft';
import { DocumentForm } from '../../forms/document-form';
import type { Document } from '../../forms/document';
import { requestGroups } from '../../forms/request-fields';
import { problemsOf } from '../../forms/problems';
import { Go, paths, useFilters, useParam } from '../../ui/links';
import { Failure, Panel, useRead } from '../../ui/read';
import { toast } from '../../ui/toasts';
import { Heading } from '../../ui/heading';
import { NextTimes, useNextTimes } from './next-times';

/** Makes a request, changes one, or makes one like another. */
export function Page() {
  const requestId = useParam('requestId');
  const [{ from }] = useFilters();
  const source = requestId || from;
  if (source === undefined || source === '') return <Form name="request" begin={{ id: '', requestType: 'SERVICE' }} />;
  return <FromRequest source={source} isEdit={requestId !== ''} />;
}

function FromRequest({ source, isEdit }: { source: string; isEdit: boolean }) {
  const read = useRead(['request', source, 'to-edit'], () => muster.requests.simple({ requestId: source }));
  return (
    <Panel of={read}>
      {({ request }) => (
        <Form
          key={source}
          name={`request.${source}.${isEdit}`}
          begin={isEdit ? { ...request } : anew(request)}
          {...(isEdit && { requestId: source })}
        />
      )}
    </Panel>
  );
}

/** The Quartz schedule that the service has made of the schedule would count for another schedule, too. */
function anew({ quartzSchedule, ...request }: Request): Document {
  const isMade = request.schedule !== undefined && request.scheduleType !== 'QUARTZ';
  return { ...request, id: '', ...(!isMade && quartzSchedule !== undefined && { quartzSchedule }) };
}

function Form({ name, begin, requestId }: { name: string; begin: Document; requestId?: string }) {
  const [document, setDocument, discard] = useDraft(name, begin);
  const [failure, setFailure] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const times = useNextTimes(document, begin);
  const isScheduled = document['requestType'] === 'SCHEDULED';
  const problems = { ...problemsOf(times.failure), ...problemsOf(failure) };
  async function save(event: React.FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    try {
      const { request } = await muster.requests.save({ body: document as Request });
      discard();
      toast.add({ title: `${request.id} is saved` });
      void navigate({ to: paths.request(request.id) });
    } catch (cause) {
      setFailure(cause);
    } finally {
      setBusy(false);
    }
  }
  return (
    <form className={isScheduled ? 'document-form beside' : 'document-form'} onSubmit={(event) => void save(event)}>
      <div>
        <Heading>{requestId === undefined ? 'New request' : `Edit ${requestId}`}</Heading>
        <DocumentForm document={document} onChange={setDocument} groups={requestGroups} problems={problems} />
        {failure !== undefined && <Failure cause={failure} />}
        <div className="buttons">
          <button type="submit" className="primary" disabled={busy}>
            Save
          </button>
          <button type="button" onClick={discard}>
            Discard changes
          </button>
          <Go to={requestId === undefined ? '/requests' : paths.request(requestId)}>Cancel</Go>
          {requestId !== undefined && (
            <Go to="/requests/new" search={{ from: requestId }}>
              Make another like it
            </Go>
          )}
        </div>
      </div>
      {isScheduled && <NextTimes of={times} />}
    </form>
  );
}
