// The form for the arguments of a call, made from a JSON Schema.

import { html } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import type { Field, Shape } from './form-model.ts'
import { emptyItem } from './form-values.ts'
import type { Draft, Drafts, Fault } from './form-values.ts'

interface Inputs {
  readonly faults: readonly Fault[]
  /** Path of the group that contains them; '' at the top. */
  readonly path: string
}

export function FormFields(
  props: {
    readonly fields: readonly Field[]
    readonly drafts: Drafts
    readonly change: (drafts: Drafts) => void
  } & Inputs,
): VNode {
  const { fields, drafts, change, faults, path } = props
  return html`
    <div class="fields">
      ${fields.map((field) => {
        const at = path === '' ? field.name : `${path}.${field.name}`
        return html`
          <${FormField}
            key=${field.name}
            field=${field}
            path=${at}
            draft=${drafts[field.name] ?? ''}
            faults=${faults}
            change=${(draft: Draft) => change({ ...drafts, [field.name]: draft })}
          />
        `
      })}
    </div>
  `
}

interface OneField extends Inputs {
  readonly field: Field
  readonly draft: Draft
  readonly change: (draft: Draft) => void
}

function FormField(props: OneField): VNode {
  const { field, path, draft, change, faults } = props
  const { shape, title, name, isRequired } = field
  // Spaces, so that the parts are separate words for screen readers and in copied text.
  const label = html`
    <span class="name">${title === name ? name : html`${title} <code>${name}</code>`}</span>${' '}
    ${isRequired && html`<span class="required">required</span>${' '}`}
    <span class="hint">${field.hint}</span>
  `
  if (shape.kind === 'group')
    return html`
      <fieldset>
        <legend>${label}</legend>
        <${FieldNotes} field=${field} path=${path} faults=${faults} />
        <div class="nested">
          <${FormFields}
            fields=${shape.fields}
            drafts=${draft === '' ? {} : draft}
            change=${change}
            faults=${faults}
            path=${path}
          />
        </div>
      </fieldset>
    `
  if (shape.kind === 'list')
    return html`
      <fieldset>
        <legend>${label}</legend>
        <${FieldNotes} field=${field} path=${path} faults=${faults} />
        <div class="nested"><${Items} ...${props} shape=${shape} /></div>
      </fieldset>
    `
  return html`
    <div class="field">
      <label for=${idOf(path)}>${label}</label>
      <${Input} ...${props} />
      <${FieldNotes} field=${field} path=${path} faults=${faults} />
    </div>
  `
}

/** The description of a field, and what is wrong with its value. */
function FieldNotes(props: Inputs & { readonly field: Field }): VNode | null {
  const { field, path, faults } = props
  const fault = faults.find((one) => one.path === path)
  if (field.description === '' && fault === undefined) return null
  return html`
    <div id=${`${idOf(path)}-words`} class="words">
      ${fault !== undefined && html`<div class="bad" role="alert">${fault.words}</div>`}
      ${field.description !== '' && html`<div class="dim">${field.description}</div>`}
    </div>
  `
}

function Items(props: OneField & { readonly shape: Extract<Shape, { kind: 'list' }> }): VNode {
  const { shape, draft, change, path, faults } = props
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : []
  const replaced = (at: number, next: readonly Draft[]): void =>
    change([...items.slice(0, at), ...next, ...items.slice(at + 1)])
  return html`
    <div class="items">
      ${items.map((item, at) => {
        const place = `${path}[${at}]`
        const fault = faults.find((one) => one.path === place)
        return html`
          <div class="item" key=${at}>
            <${Input}
              field=${shape.item}
              path=${place}
              draft=${item}
              faults=${faults}
              label=${`${path} ${at + 1}`}
              change=${(next: Draft) => replaced(at, [next])}
            />
            <button
              type="button"
              aria-label=${`Remove ${path} ${at + 1}`}
              onClick=${() => replaced(at, [])}
            >
              Remove
            </button>
            ${fault !== undefined && html`<div class="bad" role="alert">${fault.words}</div>`}
          </div>
        `
      })}
      <button
        type="button"
        disabled=${items.length >= shape.max}
        onClick=${() => change([...items, emptyItem(shape.item)])}
      >
        Add${items.length === 0 ? '' : ' another'}
      </button>
    </div>
  `
}

function Input(props: OneField & { readonly label?: string }): VNode {
  const { field, path, draft, change, label, faults } = props
  const { shape, placeholder, isRequired } = field
  const hasFault = faults.some((one) => one.path === path)
  const said = {
    id: idOf(path),
    'aria-label': label,
    'aria-invalid': hasFault ? 'true' : undefined,
    'aria-describedby': hasFault || field.description !== '' ? `${idOf(path)}-words` : undefined,
  }
  const text = typeof draft === 'string' ? draft : ''
  const typed = (event: Event): void => change((event.target as HTMLInputElement).value)
  if (shape.kind === 'choice' || (shape.kind === 'flag' && !isRequired)) {
    const labels = shape.kind === 'choice' ? shape.choices.map((one) => one.label) : FLAGS
    return html`
      <select ...${said} value=${text} onChange=${typed}>
        ${!isRequired && html`<option value="">not sent</option>`}
        ${labels.map((name, at) => html`<option key=${at} value=${String(at)}>${name}</option>`)}
      </select>
    `
  }
  if (shape.kind === 'flag')
    return html`
      <input
        ...${said}
        type="checkbox"
        checked=${text === '1'}
        onChange=${(event: Event) => change((event.target as HTMLInputElement).checked ? '1' : '0')}
      />
    `
  if (shape.kind === 'json' || (shape.kind === 'text' && shape.lines === 'many'))
    return html`
      <textarea
        ...${said}
        rows=${shape.kind === 'json' ? 3 : 4}
        class=${shape.kind === 'json' ? 'mono' : 'prose'}
        spellcheck=${false}
        placeholder=${placeholder}
        value=${text}
        onInput=${typed}
        onKeyDown=${submitByKey}
      />
    `
  return html`
    <input
      ...${said}
      type="text"
      inputmode=${shape.kind === 'number' ? 'decimal' : undefined}
      autocomplete="off"
      spellcheck=${false}
      placeholder=${placeholder}
      value=${text}
      onInput=${typed}
    />
  `
}

const FLAGS = ['false', 'true']

/** Ctrl+Enter submits; Enter alone adds a line. */
export function submitByKey(event: KeyboardEvent): void {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  ;(event.target as HTMLTextAreaElement).form?.requestSubmit()
}

function idOf(path: string): string {
  return `field-${path}`
}
