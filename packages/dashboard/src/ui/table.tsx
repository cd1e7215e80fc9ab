import { useState, type ReactNode } from 'react';

export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** What rows are sorted by; a column without it cannot be sorted. */
  readonly value?: (row: Row) => string | number;
  readonly align?: 'end';
  /** It is shown whatever columns are chosen. */
  readonly isFixed?: true;
  /** It is shown only where it is chosen. */
  readonly isExtra?: true;
}

export interface Sort {
  readonly by: string;
  readonly descending: boolean;
}

export function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: Sort | undefined,
): readonly Row[] {
  const value = sort && columns.find(({ id }) => id === sort.by)?.value;
  if (!value) return rows;
  const sign = sort.descending ? -1 : 1;
  return rows
    .map((row) => ({ row, key: value(row) }))
    .sort((a, b) => sign * compare(a.key, b.key))
    .map(({ row }) => row);
}

const collator = new Intl.Collator('en', { numeric: true });
const compare = (a: string | number, b: string | number): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));

/** A table of a page's worth of rows. Longer lists have `LongList`. */
export function Table<Row>(props: {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  empty: ReactNode;
}) {
  const [sort, setSort] = useState<Sort>();
  const { rows, columns } = props;
  if (rows.length === 0) return <p className="empty">{props.empty}</p>;
  return (
    <div className="scroll" role="region" aria-label={props.label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.id} column={column} sort={sort} onSort={setSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted(rows, columns, sort).map((row) => (
            <tr key={props.keyOf(row)}>
              {columns.map(({ id, cell, align }) => (
                <td key={id} className={align}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Head<Row>({
  column,
  sort,
  onSort,
}: {
  column: Column<Row>;
  sort: Sort | undefined;
  onSort: (sort: Sort) => void;
}) {
  const isBy = sort?.by === column.id;
  if (!column.value)
    return <th scope="col">{column.title === '' ? <span className="hidden">Actions</span> : column.title}</th>;
  return (
    <th scope="col" className={column.align} aria-sort={isBy ? (sort.descending ? 'descending' : 'ascending') : 'none'}>
      <SortButton
        title={column.title}
        sort={isBy ? sort : undefined}
        onSort={(descending) => onSort({ by: column.id, descending })}
      />
    </th>
  );
}

export function SortButton(props: { title: string; sort: Sort | undefined; onSort: (descending: boolean) => void }) {
  const { sort } = props;
  return (
    <button type="button" className="sort" onClick={() => props.onSort(sort ? !sort.descending : false)}>
      {props.title} <span aria-hidden="true">{sort ? (sort.descending ? '▼' : '▲') : ''}</span>
    </button>
  );
}
