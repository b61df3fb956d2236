// Why a configuration was refused: every problem found, each with the place to repair it.

export type ConfigPath = readonly (string | number)[]

export interface ConfigProblem {
  readonly file: string
  /** From 1; 0 when the problem has no place, as with a file that cannot be read. */
  readonly line: number
  readonly column: number
  /** `routes[0].matches[1].path`, or '' for the file as a whole. */
  readonly path: string
  readonly message: string
}

/** Of an attempt to put another configuration in force. */
export interface ConfigRefusal {
  readonly at: Date
  readonly problems: readonly string[]
}

export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(formatProblem).join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** `file:line:column: path: message`; a message that names its path itself is not told it again. */
export function formatProblem({ file, line, column, path, message }: ConfigProblem): string {
  const place = line === 0 ? file : `${file}:${line}:${column}`
  const named =
    path === '' || message.startsWith(`${path} `) || message.startsWith(`invalid ${path}: `)
  return named ? `${place}: ${message}` : `${place}: ${path}: ${message}`
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

// Everything found wrong so far, to be told at once.

export class ConfigProblems {
  readonly #found: ConfigProblem[] = []

  add(problem: ConfigProblem): void {
    this.#found.push(problem)
  }

  /** In the order of the text, file by file. */
  sorted(): readonly ConfigProblem[] {
    const files = [...new Set(this.#found.map(({ file }) => file))]
    return this.#found.toSorted(
      (a, b) =>
        files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
    )
  }

  /** Throws what was found, if anything was. */
  throwIfAny(): void {
    if (this.#found.length > 0) throw new ConfigError(this.sorted())
  }
}
