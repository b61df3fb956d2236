// Starts a child in its own process group, with pipes and without a shell, and redacts its secrets in what it prints.

import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import type { McpTarget } from '../../../config/backend-types.ts'
import { findHiddenArguments, isPlainName } from '../../../config/show.ts'
import { findExecutable } from '../../../core/executables.ts'
import { isOutOfDescriptors, OUT_OF_DESCRIPTORS_MESSAGE } from '../../../core/descriptors.ts'
import { encodeSecret, MIN_SECRET_LENGTH } from '../../../text/known-secrets.ts'
import { isSecretParameter, REDACTED } from '../../../text/redaction.ts'

export type StdioTarget = Extract<McpTarget, { kind: 'stdio' }>

export type StartedProcess = ChildProcessWithoutNullStreams & { readonly pid: number }

/** What every program needs and what holds no credentials; all others are passed only with `inheritEnv: true`. */
const INHERITED_VARIABLES: ReadonlySet<string> = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'TERM',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TMPDIR',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
])

/** The variables of the gateway that a child gets. */
function selectInheritedVariables({
  clearEnv,
  inheritEnv,
}: Pick<StdioTarget, 'clearEnv' | 'inheritEnv'>): NodeJS.ProcessEnv {
  if (clearEnv) return {}
  if (inheritEnv) return { ...process.env }
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => INHERITED_VARIABLES.has(name) || name.startsWith('LC_'),
    ),
  )
}

/** Returns the process; or null, and calls `failed` later with the reason. */
export function startChildProcess(
  target: StdioTarget,
  failed: (reason: string) => void,
): StartedProcess | null {
  const env = selectInheritedVariables(target)
  for (const [name, value] of Object.entries(target.env)) env[name] = value.reveal()
  try {
    const child = spawn(resolveCommand(target.cmd, env), target.args, {
      argv0: target.cmd,
      env,
      detached: true,
      shell: false,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    if (isStartedProcess(child)) return child
    child.once('error', (error) => failed(describeStartError(error)))
  } catch (error) {
    setImmediate(() => failed(describeStartError(error as NodeJS.ErrnoException)))
  }
  return null
}

function isStartedProcess(child: ChildProcessWithoutNullStreams): child is StartedProcess {
  return child.pid !== undefined
}

/** System errors name only the command; Node's own errors quote the argument, which may be a secret. */
function describeStartError(error: NodeJS.ErrnoException): string {
  if (isOutOfDescriptors(error)) return OUT_OF_DESCRIPTORS_MESSAGE
  return error.syscall === undefined ? (error.code ?? error.name) : error.message
}

/** The system searches the PATH of the child. If the child has none, the gateway's PATH is searched. */
function resolveCommand(cmd: string, env: NodeJS.ProcessEnv): string {
  if (env['PATH'] !== undefined || cmd.includes('/')) return cmd
  return findExecutable(cmd, process.env['PATH'] ?? '') ?? cmd
}

/** The number of values to search for, and the characters of each: no line is longer. */
const MAX_SECRETS = 64
const MAX_SECRET_LENGTH = 4_096
/** Whether an argument is a secret is guessed: a shorter one is often a number or a word of ordinary lines. */
const MIN_GUESSED_LENGTH = 8

type ChildEnvironment = Pick<StdioTarget, 'env' | 'args' | 'clearEnv' | 'inheritEnv'>

/** The secret values in the environment and the arguments of a child, which it may print. */
export class ChildSecrets {
  /** The values and their forms that are not a single word; the longest first, since one may be part of another. */
  readonly #texts: readonly string[]
  /** Their forms that may be a part of a longer encoded word. */
  readonly #words: readonly string[]

  constructor(target: ChildEnvironment) {
    const inherited = Object.entries(selectInheritedVariables(target))
      .filter(([name]) => isSecretParameter(name))
      .map(([, value = '']) => value)
    const { variables, argumentParts } = findGivenSecrets(target)
    const guessed = argumentParts.filter((part) => part.trim().length >= MIN_GUESSED_LENGTH)
    const lines = [...variables, ...guessed, ...inherited]
      .flatMap((value) => value.split('\n'))
      .map((value) => value.trim().slice(0, MAX_SECRET_LENGTH))
      .filter((value) => value.length >= MIN_SECRET_LENGTH)
    const values = [...new Set(lines)].slice(0, MAX_SECRETS)
    // As the lines of the child are decoded.
    const forms = values.flatMap(encodeSecret).map((form) => Buffer.from(form, 'latin1').toString())
    const texts = new Set([...values, ...forms.filter((form) => !SINGLE_WORD.test(form))])
    this.#texts = [...texts].toSorted((a, b) => b.length - a.length)
    this.#words = forms.filter((form) => !texts.has(form))
  }

  /** Redacts the secrets in a line, also one that is cut at the end of the line. */
  redact(line: string): string {
    let redacted = line
    for (const text of this.#texts)
      redacted = redactPartialSecret(redacted.replaceAll(text, REDACTED), text)
    return ENCODED_WORD.test(redacted) ? this.#redactEncoded(redacted) : redacted
  }

  /** Hides a whole word, since base64 of a longer text contains that of the secret. */
  #redactEncoded(line: string): string {
    return line.replace(ENCODED_WORDS, (word) =>
      this.#words.some((form) => word.includes(form)) ? REDACTED : word,
    )
  }
}

/** The credentials that the gateway gives to a child, which must not be in a trace; plain words and paths are none. */
export function findChildCredentials(target: Pick<StdioTarget, 'env' | 'args'>): string[] {
  const { variables, argumentParts } = findGivenSecrets(target)
  return [...variables, ...argumentParts.filter((part) => !isPlainName(part))]
}

/** The secret variables of the configuration, and the arguments that are not shown, whole and in parts. */
function findGivenSecrets({ env, args }: Pick<StdioTarget, 'env' | 'args'>): {
  readonly variables: readonly string[]
  readonly argumentParts: readonly string[]
} {
  const variables = Object.entries(env)
    .map(([name, value]) => [name, value.reveal()] as const)
    .filter(([name, value]) => isSecretParameter(name) || !isPlainName(value))
    .map(([, value]) => value)
  return { variables, argumentParts: findHiddenArguments(args).flatMap(splitSecretParts) }
}

/** The shortest form of a secret in base64 has seven characters. */
const ENCODED_WORD = /[\w+/%=~.!*()-]{7}/
const ENCODED_WORDS = /[\w+/%=~.!*()-]{7,}/g
const SINGLE_WORD = /^[\w+/%=~.!*()-]+$/

/** Splits `--name=value`, `NAME=value` and `Name: Scheme value`, as programs print the value alone. */
function splitSecretParts(text: string): string[] {
  const [, value = ''] = /^[^=\s]{1,128}=([^]*)$/.exec(text) ?? []
  const [, words = ''] = /^[\w-]{1,128}:\s*([^]*)$/.exec(text) ?? []
  return [text, value, words, words.replace(/^\w{1,32}\s+/, '')]
}

function redactPartialSecret(line: string, value: string): string {
  const at = line.lastIndexOf(value.slice(0, MIN_SECRET_LENGTH))
  return at >= 0 && value.startsWith(line.slice(at)) ? line.slice(0, at) + REDACTED : line
}
