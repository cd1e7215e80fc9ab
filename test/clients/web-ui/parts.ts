import type { Page } from 'playwright-core';

/** A call to the scheduler that the program of the UI makes, as it stands in its bundle. */
export interface Action {
  name: string;
  method: string;
  path: string;
  matches: RegExp;
}

/**
 * Each call of the bundle that changes something: `t.PauseRequest = buildJsonApiAction("PAUSE_REQUEST", "POST", ...)`, where
 * the address is a text with `.concat(...)`. One that has two addresses is two actions.
 */
export function actionsOf(bundle: string): Action[] {
  return bundle.split(/\bbuild(?=(?:Json)?ApiAction\)\(")/).flatMap((part) => {
    const end = part.indexOf(';t.');
    const text = part.slice(0, end);
    const method = /^JsonApiAction\)\("\w+","(\w+)"/.exec(text)?.[1] ?? /\{method:"(\w+)"/.exec(text)?.[1];
    if (method === undefined) return [];
    const name = /^;t\.(\w+)=/.exec(part.slice(end))![1]!;
    const paths = [...text.matchAll(/url:"([^"]*)"((?:\.concat\([^)]*\))*)/g)].map(
      ([, begin, rest]) =>
        begin + [...rest!.matchAll(/"([^"]*)"|[(,]\s*(?!")[^,)]+/g)].map((found) => found[1] ?? '*').join(''),
    );
    return paths.map((path) => ({
      name: paths.length === 1 ? name : `${name} ${path.split('/').findLast((word) => word !== '*')}`,
      method,
      path,
      matches: pattern(path),
    }));
  });
}

const pattern = (path: string): RegExp => {
  const [before, query] = path.split('?');
  const asked = query === undefined ? '' : `\\?${query.replaceAll('*', '[^&]+')}`;
  return new RegExp(`^${before!.replaceAll('*', '[^/?]+')}${asked}(?:[?&]|$)`);
};

/** The addresses that the running UI knows, from its own router: React keeps it above the first element that is shown. */
export const routesOf = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const shown = document.querySelector('#root > *');
    let instance = shown[Object.keys(shown).find((key) => key.startsWith('__reactInternalInstance'))];
    const isRouted = ({ props }) => props.routes && props.routes[0].childRoutes;
    while (!isRouted(instance._currentElement)) instance = instance._currentElement._owner;
    const below = (route, above) => {
      const path = above + (route.path ?? '').replace(/^(?!\\/|\\()/, above.endsWith('/') ? '' : '/');
      const own = (route.component || route.onEnter) && !route.indexRoute ? [path] : [];
      const children = [].concat(route.childRoutes ?? []).flatMap((child) => below(child, path));
      return [...own, ...(route.indexRoute ? [path + ' (index)'] : []), ...children];
    };
    return below(instance._currentElement.props.routes[0], '');
  })()`);
