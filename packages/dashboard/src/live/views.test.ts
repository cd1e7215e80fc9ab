import { describe, expect, test } from 'vitest';
import { viewsIn, withoutView, withView, withViews } from './views';

const mine = { name: 'mine', to: '/requests?mine=true' };
const red = { name: 'red', to: '/requests?state=failing' };

describe('saved views', () => {
  test.each([
    ['nothing', undefined, { views: [] }],
    ['what others keep', { cli: { views: [mine] } }, { views: [] }],
    ['views', { dashboard: { views: [mine, red] } }, { views: [mine, red] }],
    ['a view to start at', { dashboard: { views: [mine], start: 'mine' } }, { views: [mine], start: 'mine' }],
    ['a start that is gone', { dashboard: { views: [mine], start: 'red' } }, { views: [mine] }],
    ['an address elsewhere', { dashboard: { views: [{ name: 'x', to: '//example.com' }, mine] } }, { views: [mine] }],
    ['what is no view', { dashboard: { views: ['x', null, { name: 1, to: '/' }] } }, { views: [] }],
  ])('are read out of %s', (_name, preferences, found) => expect(viewsIn(preferences)).toEqual(found));

  test('are added, replaced by their name, started at and taken away', () => {
    const one = withView({ views: [] }, mine, true);
    expect(one).toEqual({ views: [mine], start: 'mine' });
    expect(withView(one, red, false)).toEqual({ views: [mine, red], start: 'mine' });
    expect(withView(one, { name: 'mine', to: '/tasks' }, false)).toEqual({ views: [{ name: 'mine', to: '/tasks' }] });
    expect(withoutView(one, 'mine')).toEqual({ views: [] });
  });

  test('leave what else is kept as it is', () => {
    const kept = { cli: { a: 1 }, dashboard: { views: [mine], columns: ['id'] } };
    expect(withViews(kept, (saved) => withView(saved, red, true))).toEqual({
      cli: { a: 1 },
      dashboard: { views: [mine, red], start: 'red', columns: ['id'] },
    });
  });
});
