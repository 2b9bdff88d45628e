-- removed_at: how long the conversation was when the item was taken out: windows that begin with more of it are those
-- of responses made later, without the item.
ALTER TABLE conversation_items ADD COLUMN removed_at INTEGER;
