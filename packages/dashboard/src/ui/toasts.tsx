import { Toast } from '@base-ui/react/toast';

/** Told from anywhere: what was done, or why it was not. */
export const toast = Toast.createToastManager();

export function Toasts() {
  return (
    <Toast.Provider toastManager={toast} timeout={8_000}>
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function List() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((each) => (
    <Toast.Root key={each.id} toast={each} className={`toast ${each.type ?? ''}`}>
      <Toast.Content>
        <Toast.Title />
        <Toast.Description />
        {each.actionProps && <Toast.Action />}
        <Toast.Close aria-label="Close this message">×</Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ));
}
