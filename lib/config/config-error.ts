// Configuration problems: each has a source position, a path and a message; all of them are reported at once.

export type ConfigPath = readonly (string | number)[]

export interface ConfigProblem {
  readonly file: string
  /** Starts at 1; 0 when there is no position, as for a file that cannot be read. */
  readonly line: number
  readonly column: number
  /** `routes[0].matches[1].path`, or '' for the file as a whole. */
  readonly path: string
  readonly message: string
}

/** The time and the problems of a refused reload. */
export interface ConfigRefusal {
  readonly at: Date
  readonly problems: readonly string[]
}

export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    super(formatProblems(problems))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** Problems that the message of an error lists: the first ones are corrected first. */
const MAX_LISTED_PROBLEMS = 100

function formatProblems(problems: readonly ConfigProblem[]): string {
  const lines = problems.slice(0, MAX_LISTED_PROBLEMS).map(formatProblem)
  const unlisted = problems.length - lines.length
  return [...lines, ...(unlisted > 0 ? [`and ${unlisted} more`] : [])].join('\n')
}

/** `file:line:column: path: message`; the path is omitted if the message starts with it. */
export function formatProblem({ file, line, column, path, message }: ConfigProblem): string {
  const position = line === 0 ? file : `${file}:${line}:${column}`
  const namesPath =
    path === '' || message.startsWith(`${path} `) || message.startsWith(`invalid ${path}: `)
  return namesPath ? `${position}: ${message}` : `${position}: ${path}: ${message}`
}

export function formatConfigPath(path: ConfigPath): string {
  let text = ''
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`
    else if (/^[\w-]+$/.test(key)) text += text === '' ? key : `.${key}`
    else text += `[${JSON.stringify(key)}]`
  }
  return text
}

/** Collects problems so that one error can report all of them. */
export class ConfigProblems {
  readonly #found: ConfigProblem[] = []

  add(problem: ConfigProblem): void {
    this.#found.push(problem)
  }

  /** File by file, in the order of the text. */
  sorted(): readonly ConfigProblem[] {
    const files = [...new Set(this.#found.map(({ file }) => file))]
    return this.#found.toSorted(
      (a, b) =>
        files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
    )
  }

  /** Throws a ConfigError if there are problems. */
  throwIfAny(): void {
    if (this.#found.length > 0) throw new ConfigError(this.sorted())
  }
}
