// Starts a child: in a process group of its own, with pipes, and never through a shell.

import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'
import type { McpTarget } from '../../../config/backend-types.ts'
import { findHiddenArguments, isPlainName } from '../../../config/show.ts'
import { isOutOfDescriptors, OUT_OF_DESCRIPTORS_MESSAGE } from '../../../core/descriptors.ts'
import { isSecretParameter, REDACTED } from '../../../text/redaction.ts'

export type StdioTarget = Extract<McpTarget, { kind: 'stdio' }>

/** A process that runs. */
export type StartedProcess = ChildProcessWithoutNullStreams & { readonly pid: number }

/** The process; or null, and `failed` is told later why there is none. */
export function startChildProcess(
  target: StdioTarget,
  failed: (why: string) => void,
): StartedProcess | null {
  const env: NodeJS.ProcessEnv = target.clearEnv ? {} : { ...process.env }
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

/** The system's refusals name the command only; Node's own quote the argument, which may be a secret. */
function describeStartError(error: NodeJS.ErrnoException): string {
  if (isOutOfDescriptors(error)) return OUT_OF_DESCRIPTORS_MESSAGE
  return error.syscall === undefined ? (error.code ?? error.name) : error.message
}

/** The system looks in the PATH that the child gets. Where it gets none, ours says where its command lies. */
function resolveCommand(cmd: string, env: NodeJS.ProcessEnv): string {
  if (env['PATH'] !== undefined || cmd.includes('/')) return cmd
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.map((folder) => resolve(folder, cmd)).find(isExecutable) ?? cmd
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

// Values that a child was given and may print: what was set in its environment, and its arguments that are not shown.

/** A shorter one stands in many lines that have nothing to do with it. */
const MIN_LETTERS = 8
/** Values that are looked for, and how much of each: no line is longer. */
const MAX_VALUES = 64
const MAX_LETTERS = 4_096

export class ChildSecrets {
  /** The longest first: one may be part of another. */
  readonly #values: readonly string[]

  constructor({ env, args }: Pick<StdioTarget, 'env' | 'args'>) {
    const set = Object.entries(env)
      .map(([name, value]) => [name, value.reveal()] as const)
      .filter(([name, value]) => isSecretParameter(name) || !isPlainName(value))
      .map(([, value]) => value)
    const values = [...set, ...findHiddenArguments(args).flatMap(splitSecretParts)]
      .flatMap((value) => value.split('\n'))
      .map((value) => value.trim().slice(0, MAX_LETTERS))
      .filter((value) => value.length >= MIN_LETTERS)
    this.#values = [...new Set(values)].slice(0, MAX_VALUES).toSorted((a, b) => b.length - a.length)
  }

  /** The line without them, also where it was cut within one. */
  redact(line: string): string {
    let shown = line
    for (const value of this.#values)
      shown = cutPartialSecret(shown.replaceAll(value, REDACTED), value)
    return shown
  }
}

/** `--name=value`, `NAME=value`, `Name: Scheme value`: programs print them apart. */
function splitSecretParts(text: string): string[] {
  const [, value = ''] = /^[^=\s]{1,128}=([^]*)$/.exec(text) ?? []
  const [, words = ''] = /^[\w-]{1,128}:\s*([^]*)$/.exec(text) ?? []
  return [text, value, words, words.replace(/^\w{1,32}\s+/, '')]
}

function cutPartialSecret(line: string, value: string): string {
  const at = line.lastIndexOf(value.slice(0, MIN_LETTERS))
  return at >= 0 && value.startsWith(line.slice(at)) ? line.slice(0, at) + REDACTED : line
}
