// What is said of a file with traces that has something else in it. Pure.

export interface FileNote {
  readonly title: string
  /** More of it. */
  readonly problems: readonly string[]
}

interface Told {
  readonly found: number
  readonly wrong: number
  readonly left: number
  readonly problems: readonly string[]
}

/** What was wrong with a file; null when nothing was. */
export function fileNote(name: string, { found, wrong, left, problems }: Told): FileNote | null {
  if (found === 0 && wrong === 0) return { title: `${name} is empty.`, problems: [] }
  if (found === 0)
    return { title: `${name} is not a saved trace: ${problems[0]}.`, problems: problems.slice(1) }
  const said = [
    ...(wrong > 0 ? [`${wrong} ${wrong === 1 ? 'line is' : 'lines are'} no trace event`] : []),
    ...(left > 0 ? [`${left} events were left out: there are too many`] : []),
  ]
  return said.length === 0 ? null : { title: `${name}: ${said.join('; ')}.`, problems }
}
