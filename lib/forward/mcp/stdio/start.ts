// Starts a child: in a process group of its own, with pipes, and never through a shell.

import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'
import { isOutOfDescriptors, NO_DESCRIPTORS } from '../../../base/bounds/descriptors.ts'
import type { McpTarget } from '../../../base/config/mcp-types.ts'

export type StdioTarget = Extract<McpTarget, { kind: 'stdio' }>

/** A process that runs. */
export type Started = ChildProcessWithoutNullStreams & { readonly pid: number }

/** The process; or null, and `failed` is told later why there is none. */
export function start(target: StdioTarget, failed: (why: string) => void): Started | null {
  const env: NodeJS.ProcessEnv = target.clearEnv ? {} : { ...process.env }
  for (const [name, value] of Object.entries(target.env)) env[name] = value.reveal()
  try {
    const child = spawn(commandOf(target.cmd, env), target.args, {
      argv0: target.cmd,
      env,
      detached: true,
      shell: false,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    if (isStarted(child)) return child
    child.once('error', (error) => failed(whyOf(error)))
  } catch (error) {
    setImmediate(() => failed(whyOf(error as NodeJS.ErrnoException)))
  }
  return null
}

function isStarted(child: ChildProcessWithoutNullStreams): child is Started {
  return child.pid !== undefined
}

/** The system's refusals name the command only; Node's own quote the argument, which may be a secret. */
function whyOf(error: NodeJS.ErrnoException): string {
  if (isOutOfDescriptors(error)) return NO_DESCRIPTORS
  return error.syscall === undefined ? (error.code ?? error.name) : error.message
}

/** The system looks in the PATH that the child gets. Where it gets none, ours says where its command lies. */
function commandOf(cmd: string, env: NodeJS.ProcessEnv): string {
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
