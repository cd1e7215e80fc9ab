import { toast } from './toasts';

/** Text to the clipboard; pages that came by plain HTTP have none, so the text is shown to be copied by hand. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast.add({ title: `${what} copied` });
  } catch {
    toast.add({ title: `${what} could not be copied by the browser`, description: text });
  }
}

export const CopyJson = ({ value, what }: { value: unknown; what: string }) => (
  <button type="button" className="quiet" onClick={() => void copy(JSON.stringify(value, null, 2), what)}>
    Copy JSON
  </button>
);
