// Saves, shares and loads traces as files of JSON lines.

import { linesText, loadLines } from '../../trace-view/trace-file.ts'
import type { Loaded } from '../../trace-view/trace-file.ts'
import { bytesText } from '../../trace-view/amounts.ts'
import { fileName } from './tracer.ts'
import type { KeptTrace } from './tracer.ts'

const MAX_FILE_BYTES = 64 * 1024 * 1024
/** Browsers fetch the content some time after the click. */
const SAVED_MS = 60_000

export function saveTrace(trace: KeptTrace): void {
  save(new Blob([linesText(trace.steps)], { type: 'application/jsonl' }), fileName(trace))
}

export function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), SAVED_MS)
}

/** Whether the browser can share files with other programs. */
export function canShare(): boolean {
  return filesOf('trace.jsonl', '{}').some(isShareable)
}

/** Opens the share dialog of the system. Resolves to a text that says what happened. */
export async function shareTrace(trace: KeptTrace): Promise<string> {
  const data = filesOf(fileName(trace), linesText(trace.steps)).find(isShareable)
  if (data === undefined) return 'This browser cannot share it.'
  try {
    await navigator.share(data)
    return 'Shared.'
  } catch (error) {
    return (error as Error).name === 'AbortError' ? '' : `Not shared: ${(error as Error).message}`
  }
}

/** Some browsers share only types that they know, such as plain text. */
function filesOf(name: string, text: string): ShareData[] {
  const files = [
    new File([text], name, { type: 'application/jsonl' }),
    new File([text], `${name}.txt`, { type: 'text/plain' }),
  ]
  return files.map((file) => ({ files: [file], title: name }))
}

function isShareable(data: ShareData): boolean {
  return typeof navigator.canShare === 'function' && navigator.canShare(data)
}

/** Rejects with an error that can be shown. */
export async function loadFile(file: File): Promise<Loaded> {
  if (file.size > MAX_FILE_BYTES)
    throw new Error(
      `the file has ${bytesText(file.size)}, at most ${bytesText(MAX_FILE_BYTES)} are allowed`,
    )
  return loadLines(await file.text())
}

export interface FileNote {
  readonly title: string
  /** Further problems. */
  readonly problems: readonly string[]
}

interface FileContent {
  readonly found: number
  readonly wrong: number
  readonly left: number
  readonly problems: readonly string[]
}

/** What is wrong with a file; null when nothing is. */
export function fileNote(
  name: string,
  { found, wrong, left, problems }: FileContent,
): FileNote | null {
  if (found === 0 && wrong === 0) return { title: `${name} is empty.`, problems: [] }
  if (found === 0)
    return { title: `${name} is not a saved trace: ${problems[0]}.`, problems: problems.slice(1) }
  const said = [
    ...(wrong > 0 ? [`${wrong} ${wrong === 1 ? 'line is' : 'lines are'} not a trace event`] : []),
    ...(left > 0 ? [`${left} events were left out: too many`] : []),
  ]
  return said.length === 0 ? null : { title: `${name}: ${said.join('; ')}.`, problems }
}
