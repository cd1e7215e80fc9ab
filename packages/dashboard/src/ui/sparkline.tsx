const WIDTH = 300;
const HEIGHT = 40;

/** A small picture of figures in their order, with its range in words for those who do not see it. */
export function Sparkline({
  label,
  values,
  format,
}: {
  label: string;
  values: readonly number[];
  format: (value: number) => string;
}) {
  const most = Math.max(...values);
  const least = Math.min(...values);
  const range = most - least || 1;
  const points = values
    .map(
      (value, index) =>
        `${(index / Math.max(1, values.length - 1)) * WIDTH},${HEIGHT - ((value - least) / range) * HEIGHT}`,
    )
    .join(' ');
  const text = `${label}: from ${format(least)} to ${format(most)}, last ${format(values.at(-1) ?? 0)}`;
  return (
    <figure className="sparkline">
      <svg viewBox={`-2 -2 ${WIDTH + 4} ${HEIGHT + 4}`} role="img" aria-label={text}>
        <polyline points={points} />
      </svg>
      <figcaption>{text}</figcaption>
    </figure>
  );
}
