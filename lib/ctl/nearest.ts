// The name somebody probably meant.

/** Two letters more, less or different are a slip; three are another word. */
const MOST_SLIPS = 2

/** Null when none is near. */
export function nearest(word: string, names: readonly string[]): string | null {
  let best: string | null = null
  let fewest = Math.min(MOST_SLIPS, Math.ceil(word.length / 2)) + 1
  for (const name of names) {
    const slips = slipsBetween(word, name)
    if (slips >= fewest) continue
    fewest = slips
    best = name
  }
  return best
}

/** Letters to put in, take out, exchange or swap with a neighbour, to get from one to the other. */
function slipsBetween(from: string, to: string): number {
  let before: number[] = []
  let above = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let at = 1; at <= to.length; at++) {
      const cost = from[row - 1] === to[at - 1] ? 0 : 1
      let slips = Math.min(above[at]! + 1, current[at - 1]! + 1, above[at - 1]! + cost)
      const isSwap =
        row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1]
      if (isSwap) slips = Math.min(slips, before[at - 2]! + 1)
      current.push(slips)
    }
    before = above
    above = current
  }
  return above[to.length]!
}
