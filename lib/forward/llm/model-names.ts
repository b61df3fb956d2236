// Names of models with one star in them, at either end, that stands for anything.

/** The name that fits best: the very same, or else the one with most letters. */
export function bestMatch(names: Iterable<string>, model: string): string | undefined {
  let best: string | undefined
  for (const name of names) {
    if (name === model) return name
    if (fits(name, model) && (best === undefined || name.length > best.length)) best = name
  }
  return best
}

function fits(name: string, model: string): boolean {
  if (name.startsWith('*')) return model.endsWith(name.slice(1))
  return name.endsWith('*') && model.startsWith(name.slice(0, -1))
}
