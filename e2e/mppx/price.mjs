/** One unit, in base units. */
export const cent = 10_000n

/** What an analysis comes to by its own costs: a fifth and two cents on top, in whole cents. */
export function price(result) {
  const [whole, fraction] = result.costs.totalUsd.toFixed(9).split('.')
  const nano = BigInt(whole + fraction)
  const tenths = nano * 12n + 200_000_000n
  return ((tenths + 99_999_999n) / 100_000_000n) * cent
}
