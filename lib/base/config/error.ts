// Why a configuration was refused: every problem found, each with the place to repair it.

export type Path = readonly (string | number)[]

export interface Problem {
  readonly file: string
  /** From 1; 0 when the problem has no place, as with a file that cannot be read. */
  readonly line: number
  readonly column: number
  /** `routes[0].matches[1].path`, or '' for the file as a whole. */
  readonly path: string
  readonly message: string
}

/** Of an attempt to put another configuration in force. */
export interface Refusal {
  readonly at: Date
  readonly problems: readonly string[]
}

export class ConfigError extends Error {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map(lineOf).join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/** `file:line:column: path: message`; a message that names its path itself is not told it again. */
export function lineOf({ file, line, column, path, message }: Problem): string {
  const place = line === 0 ? file : `${file}:${line}:${column}`
  const named =
    path === '' || message.startsWith(`${path} `) || message.startsWith(`invalid ${path}: `)
  return named ? `${place}: ${message}` : `${place}: ${path}: ${message}`
}

export function pathText(path: Path): string {
  let text = ''
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`
    else if (/^[\w-]+$/.test(key)) text += text === '' ? key : `.${key}`
    else text += `[${JSON.stringify(key)}]`
  }
  return text
}
