"""Everything that a ledger can hold: one frozen dataclass an event type, and the envelope around them.

An event is born whole. A start and an end are two events. Bulk text (prompts, replies, output, patches) is a
blob named here by its digest. `kind` is the envelope's `type`; `event_class` is the envelope's `class`.
A new field needs a default; a changed meaning needs a new kind (old ledgers stay readable).
"""
