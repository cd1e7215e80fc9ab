import { useSignal } from '../live/signal';
import { prefer, preferences } from '../preferences';
import { useFilters } from './links';
import { MenuOfChecks } from './menu';
import type { Column } from './table';

/** Columns that a list has whatever is chosen: what a row is, and what is done with it. */
const isFixed = ({ title, isFixed: fixed }: Column<never>, index: number): boolean =>
  index === 0 || title === '' || fixed === true;

/**
 * The columns of a list that are shown, and the menu that chooses them. The address has them as `cols`, so that a link and a saved view
 * show the same; without it they are those that were chosen last in this browser.
 */
export function useColumns<Row>(list: string, all: readonly Column<Row>[]) {
  const [{ cols }, setFilters] = useFilters();
  const kept = useSignal(preferences).columns[list];
  const chosen = cols?.split(',') ?? kept;
  const choosable = all.filter((column, index) => !isFixed(column, index));
  const isShown = (column: Column<Row>): boolean =>
    !choosable.includes(column) || (chosen?.includes(column.id) ?? !column.isExtra);
  const choose = (id: string, isOn: boolean) => {
    const isNext = (column: Column<Row>): boolean => (column.id === id ? isOn : isShown(column));
    const next = choosable.filter(isNext).map((column) => column.id);
    const isUsual = choosable.every((column) => isNext(column) === !column.isExtra);
    const { [list]: _before, ...others } = preferences.get().columns;
    prefer({ columns: isUsual ? others : { ...others, [list]: next } });
    // None at all is an empty name, which no column has.
    setFilters({ cols: isUsual ? undefined : next.join(',') || ',' });
  };
  const choices = choosable.map((column) => ({
    label: column.title,
    isOn: isShown(column),
    onChoose: (isOn: boolean) => choose(column.id, isOn),
  }));
  return { shown: all.filter(isShown), menu: <MenuOfChecks label="Columns" choices={choices} /> };
}
